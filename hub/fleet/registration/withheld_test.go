package registration

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/hub/fleet/registration/grant"
)

// TestAnInterruptedForgetSaysWhatToRun has somebody begin to forget a cluster and be stopped before it is marked.
func TestAnInterruptedForgetSaysWhatToRun(t *testing.T) {
	t.Parallel()
	h, ctx := newHub(t), t.Context()
	h.namespace(ctx, "begun")
	cluster := joinedCluster("begun")
	cluster.Spec.ID = "member-begun"
	h.g.Expect(h.Create(ctx, cluster)).To(Succeed())
	r := h.stage(h.Client).rights
	look := func() (ctrl.Result, *metav1.Condition) {
		t.Helper()
		cluster := h.cluster(ctx, "begun")
		result, err := r.Reconcile(ctx, cluster)
		h.g.Expect(err).NotTo(HaveOccurred())
		return result, meta.FindStatusCondition(h.cluster(ctx, "begun").Status.Conditions, clusterv1alpha1.ClusterRightsWithheld)
	}
	look()
	const untilMarked = 3 // writes
	h.g.Expect(Forget(ctx, failing(t, untilMarked), h.Client, cluster, "ann", h.clock.Now())).NotTo(Succeed())
	_, condition := look()
	h.g.Expect(condition).To(BeNil(), "no right is missing")

	right := grant.To(cluster, "karmada-es-begun").WorksBinding
	h.g.Expect(h.Delete(ctx, right)).To(Succeed())
	result, condition := look()
	h.g.Expect(condition).To(BeNil(), "whoever forgets it may be about to mark it")
	h.g.Expect(result.RequeueAfter).To(BeNumerically(">", 0))

	h.clock.SetTime(h.clock.Now().Add(forgetting + time.Minute))
	var version string
	for range 2 {
		result, condition = look()
		h.g.Expect(condition).To(HaveField("Status", metav1.ConditionTrue))
		h.g.Expect(condition.Message).To(And(ContainSubstring("ann began"), ContainSubstring("`hub forget begun`"), ContainSubstring("`hub forget begun --release`")))
		h.g.Expect(result.RequeueAfter).To(BeNumerically(">", 0), "what keeps the name is not watched")
		h.g.Expect(version).To(Or(BeEmpty(), Equal(h.cluster(ctx, "begun").ResourceVersion)))
		version = h.cluster(ctx, "begun").ResourceVersion
	}
	h.g.Expect(h.events).To(HaveLen(1))
	h.g.Expect(h.events[0]).To(And(HaveField("Type", corev1.EventTypeWarning), HaveField("Note", condition.Message)))
	h.g.Expect(apierrors.IsNotFound(h.Get(ctx, client.ObjectKeyFromObject(right), right))).To(BeTrue(), "while the name is kept nothing is given")

	h.g.Expect(Release(ctx, h.Client, "begun")).To(Succeed())
	result, condition = look()
	h.g.Expect(condition).To(HaveField("Status", metav1.ConditionFalse))
	h.g.Expect(result.RequeueAfter).To(BeZero())
	h.g.Expect(h.Get(ctx, client.ObjectKeyFromObject(right), right)).To(Succeed())
	h.g.Expect(h.events).To(HaveLen(2))
}
