package monitoring

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/people/monitoring/series"
	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/hub/people/view/clusters"
	"fairlead.dev/test/builder"
)

// values returns the values collected, by metric name and labels.
func values(g *WithT, metrics []prometheus.Metric) map[string]float64 {
	out := map[string]float64{}
	for _, m := range metrics {
		var written dto.Metric
		g.Expect(m.Write(&written)).To(Succeed())
		key := ""
		for _, l := range written.GetLabel() {
			key += " " + l.GetValue()
		}
		for name, desc := range names() {
			if m.Desc().String() == desc.String() {
				out[name+key] = written.GetGauge().GetValue() + written.GetCounter().GetValue()
			}
		}
	}
	return out
}

func names() map[string]*prometheus.Desc {
	d := describe()
	return map[string]*prometheus.Desc{
		"applications": d.applications, "clusters": d.clusters, "idle": d.policies, "heartbeat": d.heartbeat, "certificate": d.certificate,
		"works": d.works, "held": d.held, "refused": d.refused, "unclaimed": d.unclaimed, "noted": d.noted, "pending": d.pending, "oldest": d.oldest,
		"drift": d.agent.drift, "restarts": d.agent.restarts, "stuck": d.agent.stuck, "sent": d.agent.sent, "received": d.agent.received,
		"journal works": d.agent.journalWorks, "journal bytes": d.agent.journalBytes, "journal failing": d.agent.journalFailing,
		"member certificate": d.agent.memberCertificate, "member lifetime": d.agent.memberCertificateLifetime,
	}
}

func TestMetricsOfTheFleet(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	clk := clocktesting.NewFakeClock(now)
	m := &Monitor{
		clock: clk, describe: describe(), propagation: newPropagation(), changes: series.NewTracker[types.NamespacedName](), heard: map[string]heartbeat{},
	}
	lease := func(renewed time.Time) *coordinationv1.Lease {
		return &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-cluster", Name: "edge-1"},
			Spec:       coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: renewed}},
		}
	}
	binding := func(generation int64, applied bool) *workv1alpha2.ResourceBinding {
		b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-deployment", Generation: generation}}
		if applied {
			b.Status.Conditions = []metav1.Condition{{Type: workv1alpha2.BindingFullyApplied, Status: metav1.ConditionTrue, ObservedGeneration: generation}}
		}
		return b
	}
	// The agent's clock is a year behind; only the hub's counts.
	m.observe(lease(now.AddDate(-1, 0, 0)), true)
	m.observe(binding(1, true), true)
	clk.Step(10 * time.Second)
	m.observe(lease(now.AddDate(-1, 0, 0)), false) // the same lease again
	m.observe(binding(2, false), false)
	clk.Step(20 * time.Second)

	alarming := builder.MakeCluster("edge-1").Obj()
	for condition, status := range map[string]metav1.ConditionStatus{"SeveralAgents": "True", "CapacityJumped": "True", "CapacityUnknown": "True", "RightsWithheld": "False"} {
		meta.SetStatusCondition(&alarming.Status.Conditions, metav1.Condition{Type: condition, Status: status})
	}
	silent := alarming.DeepCopy()
	silent.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ClusterCapacityUnknown, Status: metav1.ConditionTrue}, {Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionUnknown}}
	leaving := alarming.DeepCopy()
	leaving.DeletionTimestamp = &metav1.Time{Time: now}

	tell := func(state applications.State) map[string]float64 {
		set := &metricSet{}
		web := &applications.Application{Binding: "web-deployment", State: state, Places: []applications.Place{
			{State: applications.Failing, Why: "the member refuses it: admission webhook denied the request"}, {State: state, Applied: state != applications.Waiting},
		}}
		m.addApplications(set, &snapshot{apps: []*applications.Application{web, {State: applications.Healthy}}, namespaces: []string{"shop", "shop"}, idle: 3}, clk.Now())
		m.addClusters(set, &snapshot{noted: countConditions([]*clusterv1alpha1.Cluster{alarming, builder.MakeCluster("edge-2").Obj(), leaving, silent}), clusters: []clusters.Cluster{
			{
				Name: "edge-1", State: clusters.Ready, Unclaimed: 2, DeletionsHeld: "Too many.", Works: &clusters.Works{Total: 10, Applied: 5, Failing: 2, Deleting: 1},
				Certificate: &clusters.Certificate{Expires: clk.Now().Add(time.Hour)},
				Report: &clusterv1alpha1.AgentReport{
					Restarts: 2, DriftRepaired: 7, StuckObjects: 1, SentBytes: 1000, ReceivedBytes: 2000,
					Journal: &clusterv1alpha1.JournalReport{Works: 9, Bytes: 900, Failing: true}, MemberCertificateExpires: new(metav1.NewTime(clk.Now().Add(2 * time.Hour))),
					MemberCertificateBegins: new(metav1.NewTime(clk.Now().Add(-time.Hour))),
				},
			},
			{Name: "edge-2", State: clusters.Forgotten, Works: &clusters.Works{}, Certificate: &clusters.Certificate{}, Report: &clusterv1alpha1.AgentReport{}},
			{Name: "edge-3", State: clusters.Ready, Works: &clusters.Works{}, Report: &clusterv1alpha1.AgentReport{}},
			{Name: "edge-4", State: clusters.Ready, Works: &clusters.Works{}},
			{Name: "edge-6", State: clusters.Ready, Works: &clusters.Works{}, Report: &clusterv1alpha1.AgentReport{MemberCertificateExpires: new(metav1.NewTime(clk.Now().Add(time.Hour)))}},
			{Name: "edge-5", State: clusters.Silent, Works: &clusters.Works{}, Report: &clusterv1alpha1.AgentReport{MemberCertificateExpires: new(metav1.NewTime(clk.Now()))}},
		}}, clk.Now())
		return values(g, set.metrics)
	}
	out := tell(applications.Waiting)
	for key, want := range map[string]float64{
		"applications Waiting": 1, "applications Healthy": 1, "applications Failing": 0, "refused Denied": 1, "refused Other": 0, "idle": 3,
		"pending": 1, "oldest": 20, "heartbeat edge-1": 30, "certificate edge-1": 3600, "clusters Ready": 4, "clusters Forgotten": 1, "clusters Silent": 1,
		"works edge-1 applied": 5, "works edge-1 failing": 2, "works edge-1 deleting": 1, "works edge-1 waiting": 2, "unclaimed": 2, "held edge-1": 1, "held edge-2": 0,
		"noted SeveralAgents": 1, "noted CapacityJumped": 1, "noted CapacityUnknown": 1, "noted RightsWithheld": 0,
		"restarts edge-1": 2, "drift edge-1": 7, "stuck edge-1": 1, "sent edge-1": 1000, "received edge-1": 2000,
		"journal works edge-1": 9, "journal bytes edge-1": 900, "journal failing edge-1": 1, "journal failing edge-3": 0, "drift edge-3": 0,
		"member certificate edge-1": 7200, "member lifetime edge-1": 3 * 3600, "member certificate edge-6": 3600,
	} {
		g.Expect(out).To(HaveKeyWithValue(key, want))
	}
	g.Expect(out).NotTo(HaveKey("certificate edge-2"), "nobody renews what was forgotten")
	g.Expect(out).NotTo(HaveKey("drift edge-2"), "it was forgotten")
	g.Expect(out).NotTo(HaveKey("member certificate edge-3"), "its agent has a token")
	g.Expect(out).NotTo(HaveKey("member certificate edge-5"), "it is silent, and its agent may have another by now")
	g.Expect(out).NotTo(HaveKey("member lifetime edge-6"), "its agent does not say when that began")
	g.Expect(out).NotTo(HaveKey("drift edge-4"), "its agent is of a version that counts nothing")
	g.Expect(tell(applications.Healthy)).To(HaveKeyWithValue("pending", 0.0), "only the cluster that refuses it has yet to apply it, of which another metric tells")

	m.observe(binding(2, true), false)
	g.Expect(tell(applications.Healthy)).To(And(HaveKeyWithValue("pending", 0.0), HaveKeyWithValue("oldest", 0.0)))
	measured := func() *dto.Histogram {
		var written dto.Metric
		g.Expect(m.propagation.Write(&written)).To(Succeed())
		return written.GetHistogram()
	}
	g.Expect(measured().GetSampleCount()).To(BeZero(), "how long a cluster refuses something is not how long changes take")
	m.observe(binding(3, false), false)
	clk.Step(5 * time.Second)
	m.observe(binding(3, true), false)
	g.Expect(measured().GetSampleSum()).To(BeNumerically("~", 5, 1e-6))
	m.observe(lease(now), false)
	g.Expect(tell(applications.Healthy)).To(HaveKeyWithValue("heartbeat edge-1", 0.0))
	m.gone(lease(now))
	g.Expect(tell(applications.Healthy)).NotTo(HaveKey("heartbeat edge-1"))
}

// TestAHubThatTakesOverKnowsSinceWhenAClusterIsSilent observes leases as a hub does that has seen none of them renewed.
func TestAHubThatTakesOverKnowsSinceWhenAClusterIsSilent(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	weekAgo := now.AddDate(0, 0, -7)
	for name, tc := range map[string]struct {
		seen   time.Duration
		rarely bool
		ready  metav1.ConditionStatus
		want   time.Duration
	}{
		"a cluster that is heard from":             {seen: 9 * time.Second, ready: metav1.ConditionTrue, want: 9 * time.Second},
		"one that is silent for a week":            {seen: 9 * time.Second, ready: metav1.ConditionUnknown, want: now.Sub(weekAgo)},
		"one whose last heartbeat this hub saw":    {seen: 8 * 24 * time.Hour, ready: metav1.ConditionUnknown, want: 8 * 24 * time.Hour},
		"a silent one that was heard by its line":  {seen: 9 * time.Second, rarely: true, ready: metav1.ConditionUnknown, want: now.Sub(weekAgo)},
		"one that is heard by its line, and rests": {seen: 9 * time.Second, rarely: true, ready: metav1.ConditionTrue},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := clusters.Cluster{Ready: string(tc.ready), Since: &weekAgo}
			NewWithT(t).Expect(heartbeat{seen: now.Add(-tc.seen), rarely: tc.rarely}.age(&c, now)).To(Equal(tc.want))
		})
	}
}
