package execution

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// TestASweepLeavesAloneWhatIsOutsideOfItsNamespaces checks that a retired agent is confined as before.
func TestASweepLeavesAloneWhatIsOutsideOfItsNamespaces(t *testing.T) {
	t.Parallel()
	for _, stay := range []bool{false, true} {
		g := NewWithT(t)
		inside, outside := inShop("inside", ownWorks, "inside"), inShop("outside", ownWorks, "outside")
		outside.Namespace = "payroll"
		works := []*workv1alpha1.Work{workWith(t, "inside", inside), workWith(t, "outside", outside)}
		member := fakeClient(t, interceptor.Funcs{}, inside.DeepCopy(), outside.DeepCopy())
		s := sweeping(member)
		s.Namespaces = []string{"shop"}
		swept, err := s.Sweep(t.Context(), works, stay)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(swept.Objects).To(Equal(1))
		g.Expect(swept.Left).To(ConsistOf(ContainSubstring("ConfigMap payroll/outside")))
		left := &corev1.ConfigMap{}
		g.Expect(member.Get(t.Context(), client.ObjectKeyFromObject(outside), left)).To(Succeed())
		g.Expect(left.Labels).To(Equal(outside.Labels))
	}
}
