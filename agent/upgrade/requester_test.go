package upgrade

import (
	"encoding/json"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	testingclock "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"fairlead.dev/agent/upgrade/plan"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
)

var now = time.Date(2026, 11, 23, 2, 0, 0, 0, time.UTC)

// asInstalled returns an agent installed in its member as agent:v2, with the given upgrade record and request to its
// guard, which is scaled up and never runs.
func asInstalled(t *testing.T, record *plan.Record, request *plan.Request) *installed {
	t.Helper()
	g := NewWithT(t)
	text := func(value any) string {
		raw, err := json.Marshal(value)
		g.Expect(err).NotTo(HaveOccurred())
		return string(raw)
	}
	i := &installed{agent: types.NamespacedName{Namespace: "system", Name: "agent"}, guard: types.NamespacedName{Namespace: "system", Name: "agent-guard"}}
	agent := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "agent"}}
	agent.Spec.Template.Spec.Containers = []corev1.Container{{Name: container, Image: "agent:v2"}}
	if record != nil {
		agent.Annotations = map[string]string{contract.AgentUpgradeAnnotation: text(record)}
	}
	guard := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "agent-guard"}, Spec: appsv1.DeploymentSpec{Replicas: new(int32(1))}}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "agent-guard"}, Data: map[string]string{}}
	if request != nil {
		cm.Data[requestKey] = text(request)
	}
	i.memberClient = fake.NewClientBuilder().WithTypeConverters(managedfields.NewDeducedTypeConverter()).WithObjects(agent, guard, cm).Build()
	return i
}

// told returns a value of the guard's ConfigMap.
func (i *installed) told(t *testing.T, key string) string {
	t.Helper()
	cm := &corev1.ConfigMap{}
	NewWithT(t).Expect(i.memberClient.Get(t.Context(), i.guard, cm)).To(Succeed())
	return cm.Data[key]
}

// requester returns the Requester of an agent that an upgrade has just started, and that the hub hears.
func requester(i *installed) (*Requester, *testingclock.FakeClock) {
	clock := testingclock.NewFakeClock(now)
	return &Requester{self: Self{InPod: true, Start: "start"}, heard: func() bool { return true }, clock: clock, started: now, installed: i}, clock
}

func TestAnAgentThatDiesAfterItWasHeardHasNotProvedItself(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	record := &plan.Record{Image: "agent:v2", Phase: clusterv1alpha1.AgentUpgrading, Start: "start", Within: 5 * time.Minute, Deadline: now.Add(5 * time.Minute)}
	i := asInstalled(t, record, nil)
	r, clock := requester(i)
	wanted := &clusterv1alpha1.WantedAgent{Image: "agent:v2"}
	g.Expect(r.Due()).To(Equal(shortestWait), "before the hub hears it as well")
	clock.SetTime(now.Add(29 * time.Second))
	r.Upgrade(t.Context(), wanted, nil)
	g.Expect(i.told(t, reportedKey)).To(BeEmpty(), "it was heard, and could die yet")
	g.Expect(r.Due()).To(Equal(shortestWait), "however seldom the member is asked how it is")
	clock.SetTime(now.Add(30 * time.Second))
	r.Upgrade(t.Context(), wanted, nil)
	g.Expect(i.told(t, reportedKey)).To(Equal("start"))
	g.Expect(r.Due()).To(BeZero())
}

func TestAHubThatWasRestoredBringsNoOlderAgentBack(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	record := &plan.Record{Image: "agent:v2", Attempt: 2000, Phase: clusterv1alpha1.AgentUpgraded}
	i := asInstalled(t, record, nil)
	r, _ := requester(i)
	said := r.Upgrade(t.Context(), &clusterv1alpha1.WantedAgent{Image: "agent:v1", Attempt: 1000}, nil)
	g.Expect(i.told(t, requestKey)).To(BeEmpty())
	g.Expect(*said).To(And(HaveField("Phase", clusterv1alpha1.AgentRefused), HaveField("Running", "agent:v2"), HaveField("Message", And(ContainSubstring("restored"), ContainSubstring(`{"spec":{"agent":{"attempt":2001}}}`)))))
	said = r.Upgrade(t.Context(), &clusterv1alpha1.WantedAgent{Image: "agent:v2", Attempt: 1500}, nil)
	g.Expect(*said).To(HaveField("Phase", clusterv1alpha1.AgentUpgraded), "what runs is not brought back")
	said = r.Upgrade(t.Context(), &clusterv1alpha1.WantedAgent{Image: "agent:v1", Attempt: 2001}, nil)
	g.Expect(*said).To(HaveField("Phase", clusterv1alpha1.AgentUpgrading), "a person asks for it")
	g.Expect(i.told(t, requestKey)).To(ContainSubstring("agent:v1"))
}

func TestAWithdrawnUpgradeIsNotLeftToTheGuard(t *testing.T) {
	t.Parallel()
	v2 := &plan.Record{Image: "agent:v2", Attempt: 5, Phase: clusterv1alpha1.AgentUpgraded}
	underWay := &plan.Record{Image: "agent:v2", Attempt: 5, Phase: clusterv1alpha1.AgentUpgrading}
	for name, c := range map[string]struct {
		record *plan.Record
		wanted *clusterv1alpha1.WantedAgent
		phase  clusterv1alpha1.AgentUpgradePhase
	}{
		"the one that runs is wanted again":        {v2, &clusterv1alpha1.WantedAgent{Image: "agent:v2", Attempt: 7}, clusterv1alpha1.AgentUpgraded},
		"as the very attempt by which it runs":     {v2, &clusterv1alpha1.WantedAgent{Image: "agent:v2", Attempt: 5}, clusterv1alpha1.AgentUpgraded},
		"while that is under way":                  {underWay, &clusterv1alpha1.WantedAgent{Image: "agent:v2", Attempt: 5}, clusterv1alpha1.AgentUpgrading},
		"it was never upgraded":                    {nil, &clusterv1alpha1.WantedAgent{Image: "agent:v2", Attempt: 7}, clusterv1alpha1.AgentUpgraded},
		"by a hub that was restored":               {v2, &clusterv1alpha1.WantedAgent{Image: "agent:v1", Attempt: 4}, clusterv1alpha1.AgentRefused},
		"nothing is wanted":                        {v2, nil, ""},
		"nothing is wanted while one is under way": {underWay, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			i := asInstalled(t, c.record, &plan.Request{Image: "agent:v3", Attempt: 6, ReportWithin: time.Minute})
			r, _ := requester(i)
			said := r.Upgrade(t.Context(), c.wanted, nil)
			g.Expect(i.told(t, requestKey)).To(BeEmpty(), "the guard that comes days later has nothing to begin")
			if c.wanted != nil {
				g.Expect(*said).To(HaveField("Phase", c.phase))
			}
		})
	}
	g := NewWithT(t)
	i := asInstalled(t, v2, &plan.Request{Image: "agent:v3", Attempt: 6, ReportWithin: 5 * time.Minute})
	r, _ := requester(i)
	r.Upgrade(t.Context(), &clusterv1alpha1.WantedAgent{Image: "agent:v3", Attempt: 6}, nil)
	g.Expect(i.told(t, requestKey)).To(ContainSubstring("agent:v3"), "what is wanted is")
}
