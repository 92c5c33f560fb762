package quotas

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/adjust/quotas/parts"
)

// reads is an empty API that counts reads.
type reads struct {
	client.Reader
	n int
}

func (r *reads) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	r.n++
	return apierrors.NewNotFound(schema.GroupResource{Resource: "works"}, key.Name)
}

// TestUnchangedPartsAreNotMadeAgain reconciles a quota whose Works have outdated content: only a Work that is rendered
// again for comparison is found to differ.
func TestUnchangedPartsAreNotMadeAgain(t *testing.T) {
	t.Parallel()
	g, live := NewWithT(t), &reads{}
	r := &Reconciler{events: func(eventsink.Event) {}, liveReader: live, prefix: contract.DefaultExecutionNamespacePrefix, checked: map[types.NamespacedName]check{}}
	q := &policyv1alpha1.FederatedResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "all", UID: "u", Generation: 1}}
	s := &scope{quota: q, assignments: map[string]*policyv1alpha1.StaticClusterAssignment{}}
	for _, name := range []string{"a", "b", "c"} {
		part := policyv1alpha1.StaticClusterAssignment{ClusterName: name, Hard: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}}
		work, err := parts.Work(q, part, r.prefix)
		g.Expect(err).NotTo(HaveOccurred())
		work.Generation, work.Annotations[contract.ManifestHashAnnotation] = 1, "of something else"
		r.remember(q, work)
		s.works, s.assigned, s.assignments[name] = append(s.works, work), append(s.assigned, part), &part
	}
	looksAt := func() int {
		live.n = 0
		g.Expect(r.distribute(t.Context(), s)).To(Succeed())
		return live.n
	}
	g.Expect(looksAt()).To(BeZero(), "nothing changed")
	for name, change := range map[string]func(*workv1alpha1.Work){
		"its manifests": func(work *workv1alpha1.Work) { work.Generation++ },
		"its hash":      func(work *workv1alpha1.Work) { delete(work.Annotations, contract.ManifestHashAnnotation) },
		"its id":        func(work *workv1alpha1.Work) { delete(work.Labels, contract.WorkPermanentIDLabel) },
		"its finalizer": func(work *workv1alpha1.Work) { work.Finalizers = nil },
		"that it is to be gone": func(work *workv1alpha1.Work) {
			work.Annotations[contract.DeletionIntentAnnotation] = contract.DeletionRemoved
		},
	} {
		before := s.works[1]
		s.works[1] = before.DeepCopy()
		change(s.works[1])
		g.Expect(looksAt()).To(Equal(1), "of one Work %s changed", name)
		s.works[1] = before
	}
	q.Generation++
	g.Expect(looksAt()).To(Equal(3), "the quota changed")
	q.UID = "another"
	q.Generation--
	g.Expect(looksAt()).To(Equal(3), "it is another quota of this name")
}
