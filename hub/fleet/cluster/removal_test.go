package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

func TestADeletedClusterGoesOnceItsAgentIsLockedOut(t *testing.T) {
	t.Parallel()
	h, ctx := newHub(t, "leaving"), t.Context()
	cluster := h.cluster(ctx)
	cluster.Spec.ID = "member-of-leaving"
	h.g.Expect(h.Update(ctx, cluster)).To(Succeed())
	h.reconcile(ctx)
	h.report(ctx, metav1.ConditionTrue)
	h.reconcile(ctx)
	work := h.work(ctx, "web")
	h.g.Expect(h.Delete(ctx, h.cluster(ctx))).To(Succeed())

	h.g.Expect(h.reconcile(ctx).RequeueAfter).To(BeNumerically(">", 0))
	h.g.Expect(h.Get(ctx, client.ObjectKeyFromObject(work), work)).To(Succeed())
	h.g.Expect(work.DeletionTimestamp.IsZero()).To(BeTrue(), "its agent would take that for a wish")
	h.g.Expect(work.Annotations).NotTo(HaveKey(contract.DeletionIntentAnnotation))

	cluster = h.cluster(ctx)
	metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, contract.RetiredAnnotation, "{}")
	h.g.Expect(h.Update(ctx, cluster)).To(Succeed())
	h.awaitGone(ctx)
}

// joinedAfter is a reader whose member joins again right after it has answered whether the Cluster is still the one
// being removed.
type joinedAfter struct {
	client.Reader

	join func()
}

// Get implements client.Reader.
func (j joinedAfter) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := j.Reader.Get(ctx, key, obj, opts...)
	if kind := obj.GetObjectKind().GroupVersionKind().Kind; kind == clusterv1alpha1.KindCluster {
		j.join()
	}
	return err
}

func TestARemovalTakesNoWorkOfALaterJoin(t *testing.T) {
	t.Parallel()
	h, ctx := newHub(t, "rejoining"), t.Context()
	h.reconcile(ctx)
	h.g.Expect(h.Delete(ctx, h.cluster(ctx))).To(Succeed())
	live := h.r.hubReader
	var later *workv1alpha1.Work
	h.r.hubReader = joinedAfter{Reader: live, join: func() {
		if later == nil {
			later = h.work(ctx, "later")
		}
	}}
	h.g.Expect(h.reconcile(ctx).RequeueAfter).To(BeNumerically(">", 0))
	h.g.Expect(later).NotTo(BeNil(), "the Cluster was confirmed")
	h.g.Expect(h.Get(ctx, client.ObjectKeyFromObject(later), later)).To(Succeed())
	h.g.Expect(later.DeletionTimestamp).To(BeNil())
	h.g.Expect(later.Annotations).NotTo(HaveKey(contract.DeletionIntentAnnotation))
	h.g.Expect(later.Finalizers).To(ConsistOf(contract.ExecutionFinalizer))
	h.r.hubReader = live
	h.awaitGone(ctx)
}

func TestAnAbsentMemberDoesNotHoldUpTheRemovalOfItsCluster(t *testing.T) {
	t.Parallel()
	h, ctx := newHub(t, "absent"), t.Context()
	h.reconcile(ctx)
	h.work(ctx, "web")
	h.work(ctx, "api")
	h.g.Expect(h.Delete(ctx, h.cluster(ctx))).To(Succeed())
	h.awaitGone(ctx)
}

// TestAWorkThatIsTooLargeToBeDeletedIsReleasedFirst has a Work on which nothing can be written as long as its agent's finalizer is there.
func TestAWorkThatIsTooLargeToBeDeletedIsReleasedFirst(t *testing.T) {
	t.Parallel()
	h, ctx := newHub(t, "brimful"), t.Context()
	h.reconcile(ctx)
	full, another := h.work(ctx, "a-full"), h.work(ctx, "b-usual")
	h.restart(interceptor.NewClient(watching(t), interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			data, err := patch.Data(obj)
			if err == nil && obj.GetName() == full.Name && strings.Contains(string(data), contract.DeletionIntentAnnotation) {
				live := &workv1alpha1.Work{}
				if err = c.Get(ctx, client.ObjectKeyFromObject(full), live); err == nil && len(live.Finalizers) > 0 {
					return &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusInternalServerError, Message: "etcdserver: request is too large"}}
				}
			}
			return errors.Join(err, c.Patch(ctx, obj, patch, opts...))
		},
	}))
	h.g.Expect(h.Delete(ctx, h.cluster(ctx))).To(Succeed())
	h.g.Eventually(func(g Gomega) {
		_, _ = h.try(ctx) // fails as long as there is one that is too large
		g.Expect(h.Get(ctx, client.ObjectKeyFromObject(another), another)).To(Satisfy(apierrors.IsNotFound))
		g.Expect(h.Get(ctx, client.ObjectKeyFromObject(full), full)).To(Satisfy(apierrors.IsNotFound))
	}).WithTimeout(time.Minute).WithPolling(50 * time.Millisecond).Should(Succeed())
	h.awaitGone(ctx)
}

func TestAClusterStaysWhileABindingTargetsIt(t *testing.T) {
	t.Parallel()
	h, ctx := newHub(t, "targeted"), t.Context()
	h.reconcile(ctx)
	work := h.work(ctx, "web")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	h.g.Expect(h.Create(ctx, namespace)).To(Succeed())
	binding := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "web-deployment"}}
	binding.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: namespace.Name, Name: "web"}
	binding.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: h.name}}
	h.g.Expect(h.Create(ctx, binding)).To(Succeed())
	h.g.Expect(h.Delete(ctx, h.cluster(ctx))).To(Succeed())

	h.reconcile(ctx)
	h.g.Expect(h.Get(ctx, client.ObjectKeyFromObject(work), work)).To(Succeed())
	h.g.Expect(work.DeletionTimestamp.IsZero()).To(BeTrue(), "the scheduler comes first")

	binding.Spec.Clusters = nil
	h.g.Expect(h.Update(ctx, binding)).To(Succeed())
	h.awaitGone(ctx)
}

func TestARemovalThatIsStoppedAnywhereGoesOn(t *testing.T) {
	t.Parallel()
	for stop := range 6 {
		name := fmt.Sprintf("stopped-%d", stop)
		t.Run(fmt.Sprintf("after write %d", stop), func(t *testing.T) {
			t.Parallel()
			h, ctx := newHub(t, name), t.Context()
			h.restart(failing(t, stop))
			_, _ = h.try(ctx) // may fail
			h.restart(h.Client)
			h.reconcile(ctx)
			h.work(ctx, "web")
			h.g.Expect(h.Delete(ctx, h.cluster(ctx))).To(Succeed())
			h.restart(failing(t, stop))
			for range stop + 1 {
				_, _ = h.try(ctx)
			}
			h.restart(h.Client)
			h.awaitGone(ctx)
		})
	}
}

func TestAnExecutionNamespaceThatSomebodyDeletedIsMadeAnew(t *testing.T) {
	t.Parallel()
	h, ctx := newHub(t, "vacated"), t.Context()
	h.reconcile(ctx)
	h.report(ctx, metav1.ConditionTrue)
	h.reconcile(ctx)
	work := h.work(ctx, "web")
	namespace := &corev1.Namespace{}
	h.g.Expect(h.Get(ctx, client.ObjectKey{Name: h.namespace()}, namespace)).To(Succeed())
	former := namespace.UID
	h.g.Expect(h.Delete(ctx, namespace)).To(Succeed())
	h.g.Eventually(func(g Gomega) {
		_, err := h.try(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(h.Get(ctx, client.ObjectKey{Name: h.namespace()}, namespace)).To(Succeed())
		g.Expect(namespace.UID).NotTo(Equal(former))
	}).WithTimeout(time.Minute).WithPolling(50 * time.Millisecond).Should(Succeed())
	h.g.Expect(apierrors.IsNotFound(h.Get(ctx, client.ObjectKeyFromObject(work), work))).To(BeTrue())
	h.g.Expect(h.cluster(ctx).DeletionTimestamp.IsZero()).To(BeTrue())
}
