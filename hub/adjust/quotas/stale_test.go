package quotas_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

// divided makes a quota of which two clusters have a part, and ends the hub that brought them there.
func divided(t *testing.T) (w *world, one, two string) {
	t.Helper()
	g := NewWithT(t)
	w = start(t)
	one, two = w.quota.Namespace+"-one", w.quota.Namespace+"-two"
	w.join(t, one)
	w.join(t, two)
	w.quota.Spec.Overall = list("cpu", "4")
	w.quota.Spec.StaticAssignments = []policyv1alpha1.StaticClusterAssignment{part(one, "1"), part(two, "2")}
	g.Expect(w.hub.Create(t.Context(), w.quota)).To(Succeed())
	g.Eventually(w.hard(t, one), stagetest.Timeout, stagetest.Poll).Should(Equal("1"))
	g.Eventually(w.hard(t, two), stagetest.Timeout, stagetest.Poll).Should(Equal("2"))
	w.end()
	return w, one, two
}

func TestAHubThatDoesNotSeeThatAPartCameBackTakesNoneAway(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w, one, two := divided(t)
	read := &atomic.Int64{}
	cfg := stagetest.Intercept(cluster.Shared(t, cluster.Options{Profile: cluster.Hub}).Config, func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/namespaces/"+w.quota.Namespace+"/federatedresourcequotas/all") {
			read.Add(1)
		}
		return nil, nil
	})
	w.seen = func(in any) (any, error) {
		if q, ok := in.(*policyv1alpha1.FederatedResourceQuota); ok {
			q.Spec.StaticAssignments, q.Generation = q.Spec.StaticAssignments[:1], q.Generation-1
		}
		return in, nil
	}
	w.run(t, cfg)
	g.Eventually(read.Load, stagetest.Timeout, stagetest.Poll).Should(BeNumerically(">", 1), "it looks again and again")
	g.Expect(w.hard(t, one)()).To(Equal("1"))
	g.Expect(w.hard(t, two)()).To(Equal("2"))
	g.Expect(w.work(t, two).Annotations).NotTo(HaveKey(contract.DeletionIntentAnnotation))
}

func TestAHubThatDoesNotSeeThatAClusterLeavesTakesNoPartFromIt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w, _, two := divided(t)
	leaves := builder.MakeCluster(two).Obj()
	g.Expect(w.hub.Patch(t.Context(), leaves, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+contract.RetiredAnnotation+`":"{}"}}}`)))).To(Succeed())
	w.change(t, func() { w.quota.Spec.StaticAssignments = w.quota.Spec.StaticAssignments[:1] })
	w.run(t, cluster.Shared(t, cluster.Options{Profile: cluster.Hub}).Config, func(o *manager.Options) {
		o.Cache.ByObject[&clusterv1alpha1.Cluster{}] = cache.ByObject{Transform: func(in any) (any, error) {
			if c, ok := in.(*clusterv1alpha1.Cluster); ok {
				delete(c.Annotations, contract.RetiredAnnotation)
			}
			return in, nil
		}}
	})
	g.Eventually(func() string { return w.work(t, two).Annotations[contract.DeletionIntentAnnotation] }, stagetest.Timeout, stagetest.Poll).
		Should(Equal(contract.DeletionClusterLeft))
}
