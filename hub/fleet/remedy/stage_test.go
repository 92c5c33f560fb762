package remedy_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	remedyv1alpha1 "fairlead.dev/common/api/remedy/v1alpha1"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/fleet/remedy"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

const dns = "ServiceDomainNameResolutionReady"

func TestMain(m *testing.M) { cluster.Main(m) }

func TestRemedyActionsAreOnTheCluster(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	hub := c.Client(t)
	events := make(chan eventsink.Event, 100)
	start(t, c, func(e eventsink.Event) { events <- e })

	edge := builder.MakeCluster("edge-1").Obj()
	g.Expect(hub.Create(t.Context(), edge)).To(Succeed())
	condition := func(conditionType string, status metav1.ConditionStatus) {
		t.Helper()
		stagetest.ChangeStatus(t, hub, edge, func() {
			meta.SetStatusCondition(&edge.Status.Conditions, metav1.Condition{Type: conditionType, Status: status, Reason: "Reported"})
		})
	}
	becomes := func(want ...string) {
		t.Helper()
		g.Eventually(func() ([]string, error) {
			err := hub.Get(t.Context(), client.ObjectKeyFromObject(edge), edge)
			return edge.Status.RemedyActions, err
		}, stagetest.Timeout, stagetest.Poll).Should(HaveExactElements(want))
	}
	condition(dns, metav1.ConditionFalse)
	one := &remedyv1alpha1.Remedy{ObjectMeta: metav1.ObjectMeta{Name: "dns"}, Spec: remedyv1alpha1.RemedySpec{
		DecisionMatches: []remedyv1alpha1.DecisionMatch{{ClusterConditionMatch: &remedyv1alpha1.ClusterConditionRequirement{
			ConditionType: dns, Operator: remedyv1alpha1.ClusterConditionEqual, ConditionStatus: "False",
		}}},
		Actions: []remedyv1alpha1.RemedyAction{remedyv1alpha1.TrafficControl},
	}}
	g.Expect(hub.Create(t.Context(), one)).To(Succeed())
	becomes("TrafficControl")
	g.Expect((<-events).Note).To(ContainSubstring("TrafficControl. Requested by Remedy dns."))

	condition(dns, metav1.ConditionTrue)
	becomes()
	condition(dns, metav1.ConditionFalse)
	becomes("TrafficControl")

	edge.Status.RemedyActions = []string{"SomethingElse"}
	g.Expect(hub.Status().Update(t.Context(), edge)).To(Succeed())
	becomes("TrafficControl")

	one.Spec.ClusterAffinity = &remedyv1alpha1.ClusterAffinity{ClusterNames: []string{"edge-2"}}
	g.Expect(hub.Update(t.Context(), one)).To(Succeed())
	becomes()
	one.Spec.ClusterAffinity.ClusterNames = []string{"edge-2", "edge-1"}
	g.Expect(hub.Update(t.Context(), one)).To(Succeed())
	becomes("TrafficControl")
	g.Expect(hub.Delete(t.Context(), one)).To(Succeed())
	becomes()

	always := &remedyv1alpha1.Remedy{ObjectMeta: metav1.ObjectMeta{Name: "always"}, Spec: remedyv1alpha1.RemedySpec{Actions: one.Spec.Actions}}
	g.Expect(hub.Create(t.Context(), always)).To(Succeed())
	edge = builder.MakeCluster("edge-3").Obj()
	g.Expect(hub.Create(t.Context(), edge)).To(Succeed(), "it joins later")
	becomes("TrafficControl")
}

func start(t *testing.T, hub *cluster.Cluster, events eventsink.Sink) {
	t.Helper()
	g := NewWithT(t)
	mgr := stagetest.Manager(t, hub.Config)
	g.Expect(remedy.Register(mgr, remedy.Deps{Events: events})).To(Succeed())
	stagetest.Run(t, mgr)
}

func TestRegisterSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	NewWithT(t).Expect(remedy.Register(nil, remedy.Deps{})).NotTo(Succeed())
}
