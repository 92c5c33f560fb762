package setup

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// TestTheCacheKeepsNoMoreThanAgentsReport has a Work on an API that takes statuses of any size.
func TestTheCacheKeepsNoMoreThanAgentsReport(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	work := &workv1alpha1.Work{}
	for _, bytes := range []int{workv1alpha1.MaxStatuses - 10, 11, 10, 1} {
		work.Status.ManifestStatuses = append(work.Status.ManifestStatuses,
			workv1alpha1.ManifestStatus{Status: &runtime.RawExtension{Raw: []byte(strings.Repeat("1", bytes))}, Health: workv1alpha1.Healthy})
	}
	work.Status.ManifestStatuses = append(work.Status.ManifestStatuses, workv1alpha1.ManifestStatus{})
	kept, err := stripManifests(&sharer{})(work)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kept).To(BeIdenticalTo(work))
	var sizes []int
	for _, of := range work.Status.ManifestStatuses {
		if of.Status == nil {
			sizes = append(sizes, 0)
		} else {
			sizes = append(sizes, len(of.Status.Raw))
		}
	}
	g.Expect(sizes).To(Equal([]int{workv1alpha1.MaxStatuses - 10, 0, 10, 0, 0}))
	g.Expect(work.Status.ManifestStatuses[1].Health).To(Equal(workv1alpha1.Healthy))
}
