package monitoring

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	dto "github.com/prometheus/client_model/go"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/people/monitoring/series"
	"fairlead.dev/test/builder"
)

// placed is an application in the clusters edge-1, which is heard from, and edge-2, on its own hub.
type placed struct {
	*WithT
	t       *testing.T
	clock   *clocktesting.FakeClock
	monitor *Monitor
	hub     client.Client
	binding *workv1alpha2.ResourceBinding
	works   map[string]*workv1alpha1.Work
}

func newPlaced(t *testing.T) *placed {
	t.Helper()
	g := NewWithT(t)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-deployment", Generation: 1}}
	b.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
	out := &placed{WithT: g, t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)), binding: b, works: map[string]*workv1alpha1.Work{}}
	out.hub = fake.NewClientBuilder().WithScheme(scheme).Build()
	for _, name := range []string{"edge-1", "edge-2"} {
		c := builder.MakeCluster(name).Obj()
		c.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionTrue}}
		w := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{
			Namespace: contract.ExecutionNamespace(contract.DefaultExecutionNamespacePrefix, name), Name: "web", Generation: 1,
			Annotations: map[string]string{contract.ResourceBindingNamespaceAnnotation: "shop", contract.ResourceBindingNameAnnotation: "web-deployment"},
		}}
		b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: name})
		b.Status.AggregatedStatus = append(b.Status.AggregatedStatus, workv1alpha2.AggregatedStatusItem{ClusterName: name, Applied: true, Health: workv1alpha1.Healthy})
		g.Expect(out.hub.Create(t.Context(), c)).To(Succeed())
		g.Expect(out.hub.Create(t.Context(), w)).To(Succeed())
		out.works[name] = w
	}
	g.Expect(out.hub.Create(t.Context(), b)).To(Succeed())
	out.monitor = &Monitor{
		hubClient: out.hub, clock: out.clock, describe: describe(), propagation: newPropagation(), changes: series.NewTracker[types.NamespacedName](), heard: map[string]heartbeat{},
	}
	out.reports("edge-1")
	out.reports("edge-2")
	out.status(metav1.ConditionTrue)
	out.monitor.observe(b.DeepCopy(), true)
	return out
}

func (p *placed) update(obj client.Object) {
	p.t.Helper()
	p.Expect(p.hub.Update(p.t.Context(), obj)).To(Succeed())
}

// silent makes edge-2 fall silent.
func (p *placed) silent() { p.ready(metav1.ConditionUnknown) }

// ready sets whether edge-2 is heard from.
func (p *placed) ready(status metav1.ConditionStatus) {
	p.t.Helper()
	c := builder.MakeCluster("edge-2").Obj()
	p.Expect(p.hub.Get(p.t.Context(), client.ObjectKeyFromObject(c), c)).To(Succeed())
	c.Status.Conditions[0].Status = status
	p.update(c)
}

// change updates the binding and its Works.
func (p *placed) change() {
	p.t.Helper()
	p.binding.Generation++
	p.update(p.binding)
	p.monitor.observe(p.binding.DeepCopy(), false)
	for _, w := range p.works {
		w.Generation++
		p.update(w)
	}
}

// reports has a cluster report that it has applied its Work.
func (p *placed) reports(cluster string) {
	p.t.Helper()
	w := p.works[cluster]
	w.Status.Conditions = []metav1.Condition{{Type: workv1alpha1.WorkApplied, Status: metav1.ConditionTrue, ObservedGeneration: w.Generation}}
	p.update(w)
}

// status sets the condition FullyApplied of the binding.
func (p *placed) status(status metav1.ConditionStatus) {
	p.t.Helper()
	p.binding.Status.Conditions = []metav1.Condition{{Type: workv1alpha2.BindingFullyApplied, Status: status, ObservedGeneration: p.binding.Generation}}
	p.update(p.binding)
	p.monitor.observe(p.binding.DeepCopy(), false)
}

// after advances the clock, and checks the metrics: how many changes are pending, and the age of the oldest.
func (p *placed) after(d time.Duration, pending, oldest int) {
	p.t.Helper()
	p.clock.Step(d)
	told := values(p.WithT, p.monitor.count())
	p.Expect(told).To(And(HaveKeyWithValue("pending", float64(pending)), HaveKeyWithValue("oldest", float64(oldest))))
}

// TestASilentClusterHidesNobody checks that a change which one cluster has yet to apply is reported, with its own age,
// although another cluster of the application is silent.
func TestASilentClusterHidesNobody(t *testing.T) {
	t.Parallel()
	p := newPlaced(t)
	p.after(time.Minute, 0, 0)
	p.silent()
	p.change()
	p.after(time.Minute, 1, 60)
	p.reports("edge-1")
	p.after(time.Minute, 0, 0)
	p.after(time.Hour, 0, 0)

	p.change()
	p.after(20*time.Second, 1, 20)
	p.reports("edge-1")
	p.after(20*time.Second, 0, 0)

	// Now edge-1 has applied nothing yet, according to the binding itself.
	p.binding.Status.AggregatedStatus[0].Applied = false
	p.works["edge-1"].Status.Conditions = nil
	p.update(p.works["edge-1"])
	p.change()
	p.after(30*time.Second, 1, 30)
	p.binding.Status.AggregatedStatus[0].Applied = true
	p.status(metav1.ConditionFalse)
	p.reports("edge-1")
	p.after(30*time.Second, 0, 0)

	p.reports("edge-2")
	p.status(metav1.ConditionTrue)
	p.after(30*time.Second, 0, 0)
}

// TestAClusterThatComesBackHasTimeFromThen checks that the age of a change which a cluster missed while silent starts
// when the cluster is back.
func TestAClusterThatComesBackHasTimeFromThen(t *testing.T) {
	t.Parallel()
	p := newPlaced(t)
	p.silent()
	p.change()
	p.status(metav1.ConditionFalse)
	p.reports("edge-1")
	p.after(time.Hour, 0, 0)
	p.ready(metav1.ConditionTrue)
	p.binding.Status.AggregatedStatus[1].Applied = false
	p.update(p.binding)
	p.after(30*time.Second, 1, 0)
	p.after(time.Minute, 1, 60)
	p.reports("edge-2")
	p.binding.Status.AggregatedStatus[1].Applied = true
	p.status(metav1.ConditionTrue)
	p.after(30*time.Second, 0, 0)
	var told dto.Metric
	p.Expect(p.monitor.propagation.Write(&told)).To(Succeed())
	p.Expect(told.GetHistogram().GetSampleSum()).To(BeNumerically("~", 60, 1e-6), "nor does the hour count as the time that the change took")
}

// TestClustersThatAreNotAwaited holds that a cluster that refuses a change, or whose delivery is suspended, has others be looked at as
// a silent one does.
func TestClustersThatAreNotAwaited(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]func(*placed){
		"it refuses it": func(p *placed) {
			p.binding.Status.AggregatedStatus[1] = workv1alpha2.AggregatedStatusItem{ClusterName: "edge-2", AppliedMessage: "it is denied"}
		},
		"it is suspended": func(p *placed) {
			p.binding.Spec.Suspension = &workv1alpha2.Suspension{}
			p.binding.Spec.Suspension.DispatchingOnClusters = &policyv1alpha1.SuspendClusters{ClusterNames: []string{"edge-2"}}
			p.works["edge-2"].Spec.SuspendDispatching = new(true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlaced(t)
			away(p)
			p.change()
			p.status(metav1.ConditionFalse)
			p.after(time.Minute, 1, 60)
			p.reports("edge-1")
			p.after(time.Minute, 0, 0)
		})
	}
}
