package failover_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/adjust/failover"
	"fairlead.dev/hub/flow/scheduler"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

// bindings is how many bindings leave a cluster at once.
const bindings = 1000

// BenchmarkAClusterThatIsLeft measures the time from the taint of a cluster until all its bindings have another
// cluster, with no rate limit, and how many write requests the two stages need for each.
func BenchmarkAClusterThatIsLeft(b *testing.B) {
	for b.Loop() {
		leave(b)
	}
}

func leave(b *testing.B) {
	b.Helper()
	b.StopTimer()
	g, ctx := NewWithT(b), b.Context()
	hub := cluster.Shared(b, cluster.Options{Profile: cluster.Hub, Name: b.Name()})
	c := hub.Client(b)
	namespace := hub.Namespace(b)
	for _, name := range []string{"edge-1", "edge-2"} {
		obj := builder.MakeCluster(name).Obj()
		g.Expect(client.IgnoreAlreadyExists(c.Create(ctx, obj))).To(Succeed())
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		obj.Spec.Taints = nil
		g.Expect(c.Update(ctx, obj)).To(Succeed())
		obj.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "True", Reason: "ClusterReady", LastTransitionTime: metav1.Now()}}
		obj.Status.APIEnablements = []clusterv1alpha1.APIEnablement{{GroupVersion: "apps/v1", Resources: []clusterv1alpha1.APIResource{{Name: "deployments", Kind: "Deployment"}}}}
		g.Expect(c.Status().Update(ctx, obj)).To(Succeed())
	}
	for i := range bindings {
		rb := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: fmt.Sprintf("web-%d", i), Labels: map[string]string{contract.PropagationPolicyPermanentIDLabel: "id"},
		}}
		rb.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: namespace, Name: rb.Name}
		rb.Spec.Replicas, rb.Spec.Clusters = 2, []workv1alpha2.TargetCluster{{Name: "edge-1", Replicas: 2}}
		rb.Spec.Placement = &policyv1alpha1.Placement{SpreadConstraints: []policyv1alpha1.SpreadConstraint{{SpreadByField: "cluster", MinGroups: 1, MaxGroups: 1}}}
		g.Expect(c.Create(ctx, rb)).To(Succeed())
	}
	wrote, cached, stop := run(b, hub.Config)
	defer stop()
	settle := wrote.Load()
	g.Eventually(func() bool { before := settle; settle = wrote.Load(); return settle == before }, "5m", "3s").Should(BeTrue())

	b.StartTimer()
	from := time.Now()
	lost := &clusterv1alpha1.Cluster{}
	g.Expect(c.Get(ctx, client.ObjectKey{Name: "edge-1"}, lost)).To(Succeed())
	lost.Spec.Taints = []corev1.Taint{{Key: "lost", Effect: corev1.TaintEffectNoExecute}}
	g.Expect(c.Update(ctx, lost)).To(Succeed())
	g.Eventually(func(g Gomega) {
		var list workv1alpha2.ResourceBindingList
		// Read from the hub's cache, so that the API server gets no requests beyond those measured.
		g.Expect(cached.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
		g.Expect(list.Items).To(HaveLen(bindings))
		for i := range list.Items {
			g.Expect(list.Items[i].Spec.Clusters).To(HaveLen(1))
			g.Expect(list.Items[i].Spec.Clusters[0].Name).To(Equal("edge-2"))
		}
	}, "10m", "200ms").Should(Succeed())
	b.ReportMetric(time.Since(from).Seconds(), "s/1000bindings")
	b.ReportMetric(float64(wrote.Load()-settle)/bindings, "writes/binding")
}

// run starts a hub with these two stages, and returns its count of writes, its cache, and a function that stops it.
func run(b *testing.B, to *rest.Config) (*atomic.Int64, client.Reader, func()) {
	b.Helper()
	g := NewWithT(b)
	counted := &atomic.Int64{}
	cfg := stagetest.Intercept(to, func(req *http.Request) (*http.Response, error) {
		if req.Method != http.MethodGet && !strings.Contains(req.URL.Path, "leases") {
			counted.Add(1)
		}
		return nil, nil
	})
	cfg.QPS = -1
	mgr := stagetest.Manager(b, cfg)
	g.Expect(kube.Index(b.Context(), mgr.GetCache())).To(Succeed())
	events := func(eventsink.Event) {}
	placing, err := scheduler.Register(mgr, scheduler.Deps{Events: events, Clock: clock.RealClock{}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(failover.Register(mgr, failover.Deps{
		Events: events, Clock: clock.RealClock{}, ExecutionNamespacePrefix: contract.DefaultExecutionNamespacePrefix,
		HasHealthRule: func(schema.GroupVersionKind) bool { return true },
		Scheduler:     placing,
	})).To(Succeed())
	return counted, mgr.GetClient(), stagetest.Run(b, mgr)
}
