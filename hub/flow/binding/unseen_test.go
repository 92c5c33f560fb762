package binding_test

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube/edits"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

// restart runs another hub, whose detector has not seen anything yet.
func (w *world) restart(t *testing.T, program string) (stop func() (read, rendered map[string]int)) {
	t.Helper()
	w.seen = edits.NewSeen(clock.RealClock{})
	return w.run(t, program)
}

// detects makes the detector bind the present template.
func (w *world) detects(t *testing.T, template *unstructured.Unstructured, b *workv1alpha2.ResourceBinding, strategy string) {
	t.Helper()
	w.seen.Plan(client.ObjectKeyFromObject(b), strategy)
	NewWithT(t).Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(template), template)).To(Succeed())
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		metav1.SetMetaDataAnnotation(&b.ObjectMeta, contract.TemplateFingerprintAnnotation, bindings.MadeOf(template, ""))
		if strategy != "" {
			metav1.SetMetaDataAnnotation(&b.ObjectMeta, contract.RolloutStrategyAnnotation, strategy)
		}
		b.Spec.Resource.ResourceVersion = template.GetResourceVersion()
	})
	w.seen.See(b, bindings.Fingerprint(template))
}

// leaves makes the detector decide about the present template, and leave the binding as it is.
func (w *world) leaves(t *testing.T, template *unstructured.Unstructured, b *workv1alpha2.ResourceBinding) {
	t.Helper()
	NewWithT(t).Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(template), template)).To(Succeed())
	w.seen.Plan(client.ObjectKeyFromObject(b), bindings.StrategyOf(b))
	w.seen.See(b, bindings.Fingerprint(template))
}

// looks waits until the stage has handled all earlier requests.
func (w *world) looks(t *testing.T, name string) {
	t.Helper()
	last := builder.MakeDeployment(w.namespace, name).Replicas(1).Obj()
	w.create(t, last, "a")
	NewWithT(t).Eventually(func() []string { return w.works(t, contract.WorkName("Deployment", w.namespace, name)) }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a"}))
}

// withoutHub returns a world in which no hub has run yet.
func withoutHub(t *testing.T, members ...string) *world {
	t.Helper()
	api := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	return (&stage{cluster: api, hub: api.Client(t)}).world(t, members...)
}

// TestUnseenEditIsNotSent upgrades a hub while a user edits a template. The edit may come with a strategy that the
// binding does not have yet.
func TestUnseenEditIsNotSent(t *testing.T) {
	g := NewWithT(t)
	w := withoutHub(t, "a", "b")
	web := builder.MakeDeployment(w.namespace, "web").Replicas(2).Obj()
	stop := w.restart(t, "v1")
	b := w.create(t, web, "a")
	w.detects(t, web, b, "")
	has := func() map[string]string { return w.has(t, web, "a", "b") }
	becomes := func(a, b string) {
		t.Helper()
		g.Eventually(has, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": a, "b": b}))
	}
	stays := func(a, b string) {
		t.Helper()
		g.Consistently(has, stagetest.Quiet, stagetest.Poll).Should(Equal(map[string]string{"a": a, "b": b}))
	}
	replicas := func() any { return manifest(t, w.work(t, "a", web), "spec", "replicas") }
	scale := func(to int32) {
		change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
			b.Spec.Replicas = to
			for i := range b.Spec.Clusters {
				b.Spec.Clusters[i].Replicas = to
			}
		})
	}
	becomes("nginx:1.27", "nothing")
	stop()

	change(t, w, web, image("nginx:2"))
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: w.member("b"), Replicas: 2})
	})
	stop = w.restart(t, "v2")
	w.looks(t, "first")
	stays("nginx:1.27", "nothing")
	read, _ := stop()
	g.Expect(read).NotTo(HaveKey("web"), "templates are not read before the detector has seen them")

	// The detector has not seen the last edit. Replicas are scaled nevertheless.
	scale(3)
	w.restart(t, "v2")
	w.seen.Plan(client.ObjectKeyFromObject(b), "")
	w.seen.See(b, bindings.FingerprintOn(b))
	g.Eventually(replicas, stagetest.Timeout, stagetest.Poll).Should(BeEquivalentTo(3))
	stays("nginx:1.27", "nothing")
	w.leaves(t, web, b)
	becomes("nginx:2", "nginx:2")

	// The next edit comes with a strategy, and something else triggers a reconcile before the binding has it.
	change(t, w, web, image("nginx:3"))
	scale(4)
	g.Eventually(replicas, stagetest.Timeout, stagetest.Poll).Should(BeEquivalentTo(4))
	w.detects(t, web, b, "careful")
	scale(5)
	w.looks(t, "second")
	stays("nginx:2", "nginx:2")
}

// TestMoveWaitsForDetector has the scheduler move an application before the detector has seen its template.
// Without waiting, it would be in no cluster.
func TestMoveWaitsForDetector(t *testing.T) {
	g := NewWithT(t)
	w := withoutHub(t, "a", "b")
	web := builder.MakeDeployment(w.namespace, "web").Replicas(2).Obj()
	stop := w.restart(t, "v1")
	b := w.create(t, web, "a")
	w.detects(t, web, b, "")
	has := func() map[string]string { return w.has(t, web, "a", "b") }
	g.Eventually(has, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": "nginx:1.27", "b": "nothing"}))
	stop()

	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: w.member("b"), Replicas: 2}}
	})
	w.restart(t, "v2")
	w.looks(t, "moved")
	g.Consistently(func() string { return w.intent(t, "a", web) }, stagetest.Quiet, stagetest.Poll).Should(BeEmpty())
	w.leaves(t, web, b)
	g.Eventually(func() string { return w.intent(t, "a", web) }, stagetest.Timeout, stagetest.Poll).Should(Equal(contract.DeletionMoved))
	// The deletion is written first, right before the new Work.
	g.Eventually(func() map[string]string { return w.has(t, web, "b") }, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"b": "nginx:1.27"}))
}

// TestDependencyWaitsForStrategyOfWorkload gives a workload a strategy and edits its dependency while no hub runs.
func TestDependencyWaitsForStrategyOfWorkload(t *testing.T) {
	g := NewWithT(t)
	w := withoutHub(t, "a")
	web, settings := builder.MakeDeployment(w.namespace, "web").Replicas(2).Obj(), builder.MakeConfigMap(w.namespace, "settings", "key", "one").Obj()
	stop := w.restart(t, "v1")
	leader := w.create(t, web, "a")
	w.detects(t, web, leader, "")
	needed := w.create(t, settings)
	change(t, w, needed, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{{Namespace: w.namespace, Name: leader.Name, Clusters: w.shares("a")}}
	})
	has := func() map[string]string { return w.has(t, settings, "a") }
	g.Eventually(has, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": "one"}))
	stop()

	change(t, w, settings, func(o *unstructured.Unstructured) {
		g.Expect(unstructured.SetNestedField(o.Object, "two", "data", "key")).To(Succeed())
	})
	stop = w.restart(t, "v2")
	w.looks(t, "first")
	g.Consistently(has, stagetest.Quiet, stagetest.Poll).Should(Equal(map[string]string{"a": "one"}))
	w.leaves(t, web, leader)
	g.Eventually(has, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": "two"}))
	stop()

	change(t, w, settings, func(o *unstructured.Unstructured) {
		g.Expect(unstructured.SetNestedField(o.Object, "three", "data", "key")).To(Succeed())
	})
	w.restart(t, "v2")
	w.detects(t, web, leader, "careful")
	w.looks(t, "second")
	g.Consistently(has, stagetest.Quiet, stagetest.Poll).Should(Equal(map[string]string{"a": "two"}))
}
