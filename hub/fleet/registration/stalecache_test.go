package registration

import (
	"testing"

	. "github.com/onsi/gomega"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/fleet/registration/grant"
	"fairlead.dev/test/builder"
	testcluster "fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

// runShowing runs the stage for one Cluster, which its cache shows as changed by shows.
func runShowing(t *testing.T, cfg *rest.Config, name string, shows func(*clusterv1alpha1.Cluster)) (stop func()) {
	t.Helper()
	only := func(name string) cache.ByObject {
		return cache.ByObject{Field: fields.OneTermEqualSelector("metadata.name", name)}
	}
	return stagetest.Start(t, cfg, func(mgr manager.Manager) error {
		return Register(t.Context(), mgr, Deps{
			ExecutionNamespacePrefix: contract.DefaultExecutionNamespacePrefix, Events: (&stagetest.Events{}).Record, Clock: clock.RealClock{},
		})
	}, func(o *manager.Options) {
		o.Client.Cache = &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}} // as in a hub
		clusters := only(name)
		clusters.Transform = func(obj any) (any, error) {
			if cluster, ok := obj.(*clusterv1alpha1.Cluster); ok {
				shows(cluster)
			}
			return obj, nil
		}
		o.Cache.ByObject = map[client.Object]cache.ByObject{
			&clusterv1alpha1.Cluster{}: clusters, &certificatesv1.CertificateSigningRequest{}: only("none"),
		}
	})
}

// TestAHubThatSeesTheClusterOfBeforeLeavesTheNewJoinAlone has a member that was forgotten and has rejoined under the
// same name, and a hub whose cache still shows the forgotten Cluster.
func TestAHubThatSeesTheClusterOfBeforeLeavesTheNewJoinAlone(t *testing.T) {
	t.Parallel()
	former := func(cluster *clusterv1alpha1.Cluster) {
		cluster.UID, cluster.ResourceVersion = "of-before", "1"
		cluster.DeletionTimestamp = new(metav1.Now())
	}
	for name, shows := range map[string]func(*clusterv1alpha1.Cluster){
		"again-deleted": former,
		"again-retired": func(cluster *clusterv1alpha1.Cluster) {
			former(cluster)
			metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, contract.RetiredAnnotation, "{}")
		},
		"again-retired-only": func(cluster *clusterv1alpha1.Cluster) {
			former(cluster)
			cluster.DeletionTimestamp = nil
			metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, contract.RetiredAnnotation, "{}")
		},
		"again-not-forgotten-yet": func(cluster *clusterv1alpha1.Cluster) {
			former(cluster)
			cluster.DeletionTimestamp = nil
		},
		"again-as-the-same": func(cluster *clusterv1alpha1.Cluster) {
			metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, contract.JoinedAnnotation, `{"id":"join-of-before"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, ctx := NewWithT(t), t.Context()
			api := testcluster.Shared(t, testcluster.Options{Profile: testcluster.Hub})
			hub := api.Client(t)
			cluster := builder.MakeCluster(name).Obj()
			cluster.Spec.ID, cluster.Finalizers = "member-"+name, []string{contract.ClusterFinalizer}
			cluster.Annotations = map[string]string{contract.JoinedAnnotation: `{"id":"join-of-` + name + `"}`}
			g.Expect(hub.Create(ctx, cluster)).To(Succeed())
			g.Expect(hub.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "karmada-es-" + name}})).To(Succeed())
			stop := runShowing(t, api.Config, name, func(*clusterv1alpha1.Cluster) {})
			rights := grant.To(cluster, "karmada-es-"+name)
			given := func(g Gomega) []string {
				binding, works, lease := &rbacv1.ClusterRoleBinding{}, &rbacv1.RoleBinding{}, &rbacv1.RoleBinding{}
				g.Expect(hub.Get(ctx, client.ObjectKeyFromObject(rights.ClusterBinding), binding)).To(Succeed())
				g.Expect(hub.Get(ctx, client.ObjectKeyFromObject(rights.WorksBinding), works)).To(Succeed())
				g.Expect(hub.Get(ctx, client.ObjectKeyFromObject(rights.LeaseBinding), lease)).To(Succeed())
				return []string{binding.ResourceVersion, works.ResourceVersion, lease.ResourceVersion}
			}
			g.Eventually(func(g Gomega) { given(g) }, stagetest.Timeout, stagetest.Poll).Should(Succeed())
			before := given(g)
			stop()

			cfg, requests := stagetest.Count(api.Config, "/clusters/"+name)
			runShowing(t, cfg, name, shows)
			g.Eventually(requests.Reads, stagetest.Timeout, stagetest.Poll).Should(BeNumerically(">", 1), "it looks again")
			g.Consistently(requests.Wrote, stagetest.Quiet, stagetest.Poll).Should(BeEmpty())
			g.Expect(given(g)).To(Equal(before))
			err := hub.Get(ctx, client.ObjectKey{Namespace: contract.ClusterNamespace, Name: contract.RetiredName(name)}, &corev1.ConfigMap{})
			g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "the name is not kept")
		})
	}
}
