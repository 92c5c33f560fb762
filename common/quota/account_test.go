package quota_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"fairlead.dev/common/quota"
)

// TestAnAccountIsTheSumOfItsBindings compares the account after each of many changes with a sum computed from
// scratch.
func TestAnAccountIsTheSumOfItsBindings(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	random := rand.New(rand.NewPCG(1, 2))
	names := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods}
	var account quota.Account
	uses := map[string]corev1.ResourceList{}
	for range 2000 {
		binding, of := fmt.Sprint(random.IntN(20)), corev1.ResourceList{}
		for _, name := range names[:random.IntN(len(names)+1)] {
			of[name] = resource.MustParse([]string{"1", "250m", "3Gi", "1500m"}[random.IntN(4)])
		}
		account.Set(binding, of)
		uses[binding] = of
		want := corev1.ResourceList{}
		for other, of := range uses {
			if other != binding {
				quota.Add(want, of)
			}
		}
		got := account.Others(binding)
		g.Expect(got).To(HaveLen(len(want)))
		for name, amount := range want {
			has := got[name]
			g.Expect(has.Cmp(amount)).To(Equal(0), "%s: %s instead of %s", name, has.String(), amount.String())
		}
	}
	var empty quota.Account
	g.Expect(empty.Others("one")).To(BeEmpty())
}
