package cluster

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/builder"
	testcluster "fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

// runShowing runs the stage for one Cluster, which its cache shows as changed by shows.
func runShowing(t *testing.T, cfg *rest.Config, name string, shows func(*clusterv1alpha1.Cluster)) (stop func()) {
	t.Helper()
	return stagetest.Start(t, cfg, func(mgr manager.Manager) error {
		return Register(mgr, Deps{
			ExecutionNamespacePrefix: contract.DefaultExecutionNamespacePrefix, Events: (&stagetest.Events{}).Record, Clock: clock.RealClock{},
		})
	}, func(o *manager.Options) {
		o.Cache.ByObject = map[client.Object]cache.ByObject{&clusterv1alpha1.Cluster{}: {
			Field: fields.OneTermEqualSelector("metadata.name", name),
			Transform: func(obj any) (any, error) {
				if of, ok := obj.(*clusterv1alpha1.Cluster); ok {
					shows(of)
				}
				return obj, nil
			},
		}}
	})
}

// TestAHubThatSeesTheClusterOfBeforeDrainsNothing has a member that was forgotten and has rejoined under the same name,
// and a hub whose cache still shows the forgotten Cluster.
func TestAHubThatSeesTheClusterOfBeforeDrainsNothing(t *testing.T) {
	t.Parallel()
	const name = "again"
	g, ctx := NewWithT(t), t.Context()
	api := testcluster.Shared(t, testcluster.Options{Profile: testcluster.Hub})
	hub := api.Client(t)
	again := builder.MakeCluster(name).Obj()
	again.Spec.ID = "member-again"
	g.Expect(hub.Create(ctx, again)).To(Succeed())
	stop := runShowing(t, api.Config, name, func(*clusterv1alpha1.Cluster) {})
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "karmada-es-again"}}
	g.Eventually(func(g Gomega) {
		g.Expect(hub.Get(ctx, client.ObjectKeyFromObject(again), again)).To(Succeed())
		g.Expect(controllerutil.ContainsFinalizer(again, contract.ClusterFinalizer)).To(BeTrue())
		g.Expect(again.Spec.Taints).NotTo(BeEmpty())
		g.Expect(hub.Get(ctx, client.ObjectKeyFromObject(namespace), namespace)).To(Succeed())
	}, stagetest.Timeout, stagetest.Poll).Should(Succeed())
	stop()
	work := builder.MakeWork(name, "web").Obj()
	work.Finalizers = []string{contract.ExecutionFinalizer}
	g.Expect(hub.Create(ctx, work)).To(Succeed())
	version := work.ResourceVersion

	cfg, requests := stagetest.Count(api.Config, "/clusters/"+name)
	runShowing(t, cfg, name, func(of *clusterv1alpha1.Cluster) {
		of.UID, of.ResourceVersion, of.DeletionTimestamp = "of-before", "1", new(metav1.Now())
		metav1.SetMetaDataAnnotation(&of.ObjectMeta, contract.RetiredAnnotation, "{}")
	})
	g.Eventually(requests.Reads, stagetest.Timeout, stagetest.Poll).Should(BeNumerically(">", 1), "it looks again")
	g.Consistently(requests.Wrote, stagetest.Quiet, stagetest.Poll).Should(BeEmpty())
	g.Expect(hub.Get(ctx, client.ObjectKeyFromObject(work), work)).To(Succeed())
	g.Expect(work.ResourceVersion).To(Equal(version))
	g.Expect(hub.Get(ctx, client.ObjectKeyFromObject(namespace), namespace)).To(Succeed())
	g.Expect(namespace.DeletionTimestamp).To(BeNil())
}
