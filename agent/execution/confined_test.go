package execution_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/execution"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/test/cluster"
)

// TestAnAgentThatIsConfinedToNamespacesLeavesOthersAlone gives the agent all rights, as of a process that runs with
// an administrator's kubeconfig, so that only its own check confines it.
func TestAnAgentThatIsConfinedToNamespacesLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), unstarted(t)
	shared := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	w.deps = func(deps *execution.Deps) { deps.Confined = map[string]cache.Cache{w.member: deps.MemberCache} }
	w.start(t, shared.Config, native.New())
	w.isApplied(t, w.work(t, "settings", w.configMap("settings", map[string]string{"a": "1"})))

	payroll := shared.Namespace(t)
	elsewhere := w.configMap("elsewhere", map[string]string{"a": "1"})
	elsewhere.Namespace = payroll
	refused := w.work(t, "elsewhere", elsewhere)
	g.Expect(w.isNotApplied(t, refused)).To(And(ContainSubstring(payroll), ContainSubstring("confined"), ContainSubstring(w.member)))
	g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(elsewhere), &corev1.ConfigMap{})).To(MatchError(apierrors.IsNotFound, "IsNotFound"))

	everything := &rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{Name: w.member},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}},
	}
	g.Expect(w.isNotApplied(t, w.work(t, "everything", everything))).To(ContainSubstring("in no namespace"))
	g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(everything), &rbacv1.ClusterRole{})).To(MatchError(apierrors.IsNotFound, "IsNotFound"))

	// An object applied before the agent was confined, or confined otherwise, stays unchanged when its Work ends, and
	// does not block the Work.
	before := w.marked("before")
	before.Namespace = payroll
	work := w.work(t, "before", before.DeepCopy())
	g.Expect(w.client.Create(t.Context(), before)).To(Succeed())
	g.Expect(w.isNotApplied(t, work)).To(ContainSubstring("confined"))
	for _, one := range []*workv1alpha1.Work{work, refused} {
		w.end(t, one, contract.DeletionRemoved)
		g.Eventually(func() error {
			return w.client.Get(t.Context(), client.ObjectKeyFromObject(one), &workv1alpha1.Work{})
		}).WithTimeout(waitTimeout).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
	}
	stays := &corev1.ConfigMap{}
	g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(before), stays)).To(Succeed())
	g.Expect(stays.ResourceVersion).To(Equal(before.ResourceVersion))
	g.Expect(stays.DeletionTimestamp).To(BeNil())
	g.Eventually(w.events.all).WithTimeout(waitTimeout).Should(ContainElement(And(HavePrefix("LeftInMember: "), ContainSubstring("ConfigMap "+payroll+"/before"))))
	g.Expect(w.requests.about(payroll)).To(BeEmpty(), "it is not even read")
}
