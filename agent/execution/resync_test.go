package execution_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// TestALookAtManyUnchangedWorksAsksNothingOfTheMember is the budget of an idle agent: reconciling all of its Works,
// as after changes that leave the manifests alone, makes no request to the member.
func TestALookAtManyUnchangedWorksAsksNothingOfTheMember(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	const n = 200
	works := make([]*workv1alpha1.Work, n)
	each := func(do func(i int)) {
		var writers sync.WaitGroup
		for first := range 8 {
			writers.Go(func() {
				for i := first; i < n; i += 8 {
					do(i)
				}
			})
		}
		writers.Wait()
	}
	each(func(i int) {
		name := fmt.Sprintf("settings-%03d", i)
		works[i] = w.work(t, name, w.configMap(name, map[string]string{"a": "1"}))
	})
	for _, work := range works {
		w.isApplied(t, work)
	}
	asked := len(w.requests.about("/"))
	g.Expect(asked).To(BeNumerically(">=", n))

	reported := func(i int) int {
		w.reports.mu.Lock()
		defer w.reports.mu.Unlock()
		return w.reports.count[client.ObjectKeyFromObject(works[i])]
	}
	before := make([]int, n)
	for i := range n {
		before[i] = reported(i)
	}
	each(func(i int) {
		w.change(t, works[i], func(work *workv1alpha1.Work) { work.Spec.PreserveResourcesOnDeletion = new(true) })
	})
	for i := range n {
		g.Eventually(func() int { return reported(i) }).WithTimeout(time.Minute).Should(BeNumerically(">", before[i]))
		g.Expect(w.reports.applied(works[i]).ObservedGeneration).To(Equal(works[i].Generation))
	}
	g.Expect(w.requests.about("/")).To(HaveLen(asked), "no request was made for any of them")
}
