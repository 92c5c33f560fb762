package clusters

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/fleet/registration/record"
)

var now = time.Date(2026, 11, 1, 14, 2, 0, 0, time.UTC)

func cluster(changes ...func(*clusterv1alpha1.Cluster)) *clusterv1alpha1.Cluster {
	c := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "edge-1", Annotations: map[string]string{}}}
	for _, change := range changes {
		change(c)
	}
	return c
}

func condition(kind string, status metav1.ConditionStatus) func(*clusterv1alpha1.Cluster) {
	return func(c *clusterv1alpha1.Cluster) {
		c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{
			Type: kind, Status: status, Message: "why", LastTransitionTime: metav1.NewTime(now),
		})
	}
}

func ready(status metav1.ConditionStatus) func(*clusterv1alpha1.Cluster) {
	return condition(clusterv1alpha1.ClusterReady, status)
}

func cordoned(c *clusterv1alpha1.Cluster) {
	c.Spec.Taints = []corev1.Taint{{Key: contract.TaintClusterUnschedulable, Effect: corev1.TaintEffectNoSchedule}}
}

func retired(c *clusterv1alpha1.Cluster) { c.Annotations[contract.RetiredAnnotation] = "{}" }

func removed(c *clusterv1alpha1.Cluster) { c.DeletionTimestamp = &metav1.Time{Time: now} }

func certificate(left time.Duration) func(*clusterv1alpha1.Cluster) {
	return func(c *clusterv1alpha1.Cluster) {
		c.Annotations[contract.CertificateAnnotation], _ = record.Write(record.Certificate{Serial: "1f", Expires: now.Add(left)})
	}
}

// claims makes a cluster report this many CPUs, up to limit of which count.
func claims(reported, limit string) func(*clusterv1alpha1.Cluster) {
	return func(c *clusterv1alpha1.Cluster) {
		c.Spec.CapacityLimit = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(limit)}
		c.Status.ResourceSummary = &clusterv1alpha1.ResourceSummary{Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(reported)}}
	}
}

func TestCapacityAboveTheLimitIsNotShownAsFree(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	shown := Of(Input{Cluster: cluster(claims("640", "8")), Now: now})
	g.Expect(shown.CPU.Total.String()).To(Equal("8"))
	g.Expect(shown.CPU.Free.String()).To(Equal("8"))
}

func TestStateAndRemarks(t *testing.T) {
	t.Parallel()
	const month = 30 * 24 * time.Hour
	yes := ready(metav1.ConditionTrue)
	cases := map[string]struct {
		in      Input
		state   State
		remarks []string
	}{
		"ready":               {Input{Cluster: cluster(yes, certificate(month))}, Ready, nil},
		"cordoned":            {Input{Cluster: cluster(yes, cordoned)}, Cordoned, nil},
		"silent and cordoned": {Input{Cluster: cluster(ready(metav1.ConditionUnknown), cordoned)}, Silent, []string{"It is cordoned."}},
		"not ready":           {Input{Cluster: cluster(ready(metav1.ConditionFalse))}, NotReady, nil},
		"never heard of":      {Input{Cluster: cluster()}, Joining, nil},
		"forgotten":           {Input{Cluster: cluster(ready(metav1.ConditionUnknown), retired, certificate(-time.Hour))}, Forgotten, nil},
		"being removed":       {Input{Cluster: cluster(yes, removed)}, Removing, nil},
		"several agents":      {Input{Cluster: cluster(yes, condition(clusterv1alpha1.ClusterSeveralAgents, metav1.ConditionTrue))}, Ready, []string{"Several agents pass for it; see `hub clusters describe edge-1`."}},
		"rights withheld":     {Input{Cluster: cluster(yes, condition(clusterv1alpha1.ClusterRightsWithheld, metav1.ConditionTrue))}, Ready, []string{"Its agent lacks a right, because its name is kept; see `hub clusters describe edge-1`."}},
		"one agent again":     {Input{Cluster: cluster(yes, condition(clusterv1alpha1.ClusterSeveralAgents, metav1.ConditionFalse))}, Ready, nil},
		"silent among many":   {Input{Cluster: cluster(ready(metav1.ConditionUnknown), condition(clusterv1alpha1.ClusterEvictionSuspended, metav1.ConditionTrue))}, Silent, []string{"Nothing is moved away from it, because too many clusters fell silent together."}},
		"it claims much more": {Input{Cluster: cluster(yes, condition(clusterv1alpha1.ClusterCapacityJumped, metav1.ConditionTrue))}, Ready, []string{"It reports more than twice its usual capacity; see `hub clusters describe edge-1`."}},
		"it shows no nodes":   {Input{Cluster: cluster(yes, condition(clusterv1alpha1.ClusterCapacityUnknown, metav1.ConditionTrue))}, Ready, []string{"Its agent cannot read its nodes or pods, so its free resources are unknown; see `hub clusters describe edge-1`."}},
		"it shows them again": {Input{Cluster: cluster(yes, condition(clusterv1alpha1.ClusterCapacityUnknown, metav1.ConditionFalse))}, Ready, nil},
		"it showed none before it fell silent": {
			Input{Cluster: cluster(ready(metav1.ConditionUnknown), condition(clusterv1alpha1.ClusterCapacityUnknown, metav1.ConditionTrue))}, Silent, nil,
		},
		"it showed none before it was not ready": {
			Input{Cluster: cluster(ready(metav1.ConditionFalse), condition(clusterv1alpha1.ClusterCapacityUnknown, metav1.ConditionTrue))}, NotReady, nil,
		},
		"more than it may":     {Input{Cluster: cluster(yes, claims("640", "8"))}, Ready, []string{"It reports 640 cpu, of which spec.capacityLimit counts 8."}},
		"less than it may":     {Input{Cluster: cluster(yes, claims("4", "8"))}, Ready, nil},
		"expired":              {Input{Cluster: cluster(yes, certificate(0))}, Ready, []string{"Its agent's certificate has expired; call it back with `hub token create --rejoin edge-1`."}},
		"not renewed":          {Input{Cluster: cluster(yes, certificate(48*time.Hour))}, Ready, []string{"Its agent's certificate expires in 2d and was not renewed; see the agent's log."}},
		"a clock ahead":        {Input{Cluster: cluster(yes), Lease: lease(time.Minute)}, Ready, []string{"Its agent's clock is 60s ahead of this one."}},
		"a clock a bit ahead":  {Input{Cluster: cluster(yes), Lease: lease(time.Second)}, Ready, nil},
		"it refuses something": {Input{Cluster: cluster(yes), Works: &Works{Total: 5, Failing: 2}}, Ready, []string{"It refuses 2 of 5 objects; see `hub events --cluster edge-1`."}},
		"it has what nobody claims": {
			Input{Cluster: cluster(yes, func(c *clusterv1alpha1.Cluster) { c.Status.UnclaimedObjects = 3 })},
			Ready,
			[]string{"3 objects in it name a Work that the hub does not have."},
		},
		"objects do not go and the disk is full": {
			Input{Cluster: cluster(yes, func(c *clusterv1alpha1.Cluster) {
				c.Status.Agent = &clusterv1alpha1.AgentReport{StuckObjects: 2, Journal: &clusterv1alpha1.JournalReport{Failing: true}}
			})},
			Ready,
			[]string{
				"2 objects were deleted from it and are held there by finalizers; see `hub events --cluster edge-1`.",
				"Its agent cannot write its journal; free space on its disk or repair it.",
			},
		},
		"its agent is well": {
			Input{Cluster: cluster(yes, func(c *clusterv1alpha1.Cluster) {
				c.Status.Agent = &clusterv1alpha1.AgentReport{DriftRepaired: 2, Journal: &clusterv1alpha1.JournalReport{Works: 3}}
			})},
			Ready, nil,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			tc.in.Now = now
			before := tc.in.Cluster.DeepCopy()
			row := Of(tc.in)
			g.Expect(row.State).To(Equal(tc.state))
			g.Expect(row.Remarks).To(Equal(tc.remarks))
			g.Expect(tc.in.Cluster).To(Equal(before), "nothing is changed")
		})
	}
}

func lease(ahead time.Duration) *coordinationv1.Lease {
	return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: now.Add(ahead)}}}
}

func TestOf(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := cluster(ready(metav1.ConditionUnknown), certificate(time.Hour), cordoned)
	c.Spec.Zone = "z1"
	c.Annotations[contract.JoinedAnnotation], _ = record.Write(record.Joined{At: now})
	c.Status.NodeSummary = &clusterv1alpha1.NodeSummary{TotalNum: 3, ReadyNum: 2}
	c.Status.ResourceSummary = &clusterv1alpha1.ResourceSummary{
		Allocatable: corev1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("1Gi")},
		Allocated:   corev1.ResourceList{"cpu": resource.MustParse("1500m"), "memory": resource.MustParse("1Gi")},
		Allocating:  corev1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("1Mi")},
	}
	renewed := lease(-90 * time.Second)
	renewed.Annotations = map[string]string{contract.AgentVersionAnnotation: "v1.2.3"}
	row := Of(Input{Cluster: c, Lease: renewed, Now: now})
	g.Expect(row.Agent).To(Equal("v1.2.3"))
	g.Expect(*row.Lag).To(BeEquivalentTo(90))
	g.Expect(row.Why).To(Equal("why"))
	g.Expect(*row.Since).To(Equal(now))
	g.Expect(row.Zones).To(Equal([]string{"z1"}))
	g.Expect(row.Taints).To(Equal([]string{"cluster.karmada.io/unschedulable:NoSchedule"}))
	g.Expect(*row.Nodes).To(Equal(Nodes{Ready: 2, Total: 3}))
	g.Expect(row.CPU.Free.String()).To(Equal("6"))
	g.Expect(row.CPU.Percent()).To(Equal(19))
	g.Expect(row.Memory.Free.IsZero()).To(BeTrue(), "less than nothing is nothing")
	g.Expect(row.Pods).To(BeNil())
	g.Expect(row.Certificate.Serial).To(Equal("1f"))
	g.Expect(*row.Joined).To(Equal(now))
	g.Expect((&Usage{}).Percent()).To(BeZero())
	g.Expect(*Of(Input{Cluster: c, Lease: lease(time.Hour), Now: now}).Lag).To(BeZero())

	resting := lease(-9 * time.Minute)
	g.Expect(*Of(Input{Cluster: c, Lease: resting, Now: now}).Lag).To(Equal(540.0))
	resting.Spec.LeaseDurationSeconds = new(int32(640))
	c.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-time.Hour))}}
	g.Expect(*Of(Input{Cluster: c, Lease: resting, Now: now}).Lag).To(BeZero(), "it is heard by its line")
	c.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionUnknown, LastTransitionTime: metav1.NewTime(now.Add(-time.Minute))}}
	g.Expect(*Of(Input{Cluster: c, Lease: resting, Now: now}).Lag).To(Equal(60.0), "its line was lost then")
}

func TestTally(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	work := func(namespace string, status metav1.ConditionStatus, leaving bool) *workv1alpha1.Work {
		w := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}
		if status != "" {
			w.Status.Conditions = []metav1.Condition{{Type: workv1alpha1.WorkApplied, Status: status}}
		}
		if leaving {
			w.DeletionTimestamp = &metav1.Time{Time: now}
		}
		return w
	}
	n := Tally{}
	n.Add(work("a", metav1.ConditionTrue, false))
	n.Add(work("a", metav1.ConditionFalse, false))
	n.Add(work("a", metav1.ConditionTrue, true))
	n.Add(work("a", "", false))
	n.Add(work("b", metav1.ConditionTrue, false))
	g.Expect(*n.Of("a")).To(Equal(Works{Total: 4, Applied: 1, Failing: 1, Deleting: 1}))
	g.Expect(*n.Of("b")).To(Equal(Works{Total: 1, Applied: 1}))
	g.Expect(*n.Of("c")).To(BeZero())
}

func TestWorse(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(CompareBySeverity(Cluster{Name: "b", State: Silent}, Cluster{Name: "a", State: Ready})).To(BeNumerically("<", 0))
	g.Expect(CompareBySeverity(Cluster{Name: "a", State: Ready}, Cluster{Name: "b", State: Ready})).To(BeNumerically("<", 0))
	g.Expect(States()).To(HaveLen(7))
}
