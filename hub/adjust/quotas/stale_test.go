package quotas_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

// divided creates a quota that two clusters have a part of, and stops the hub that created their Works.
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

func TestAQuotaStaysUntilAPartIsSeenThatTheCacheDoesNotShow(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w, one, two := divided(t)
	g.Expect(w.hub.Delete(t.Context(), w.quota)).To(Succeed())
	cfg, requests := stagetest.Count(cluster.Shared(t, cluster.Options{Profile: cluster.Hub}).Config, "/works")
	behind := w.run(t, cfg, func(o *manager.Options) {
		for obj, by := range o.Cache.ByObject {
			if _, ok := obj.(*workv1alpha1.Work); !ok {
				continue
			}
			shown := by.Transform
			by.Transform = func(in any) (any, error) {
				if work, ok := in.(*workv1alpha1.Work); ok && strings.HasSuffix(work.Namespace, two) {
					work.Labels = nil
				}
				return shown(in)
			}
			o.Cache.ByObject[obj] = by
		}
	})
	g.Eventually(func() bool { return w.work(t, one).DeletionTimestamp.IsZero() }, stagetest.Timeout, stagetest.Poll).Should(BeFalse())
	before := requests.Reads()
	g.Eventually(requests.Reads, stagetest.Timeout, stagetest.Poll).Should(BeNumerically(">", before+1), "it looks again and again")
	g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(w.quota), w.quota)).To(Succeed())
	g.Expect(w.work(t, two).DeletionTimestamp).To(BeNil())
	behind()

	w.run(t, cluster.Shared(t, cluster.Options{Profile: cluster.Hub}).Config)
	g.Eventually(func() error {
		return w.hub.Get(t.Context(), client.ObjectKeyFromObject(w.quota), w.quota)
	}, stagetest.Timeout, stagetest.Poll).Should(Satisfy(apierrors.IsNotFound))
	g.Expect(w.work(t, two).Annotations).To(HaveKeyWithValue(contract.DeletionIntentAnnotation, contract.DeletionRemoved))
}
