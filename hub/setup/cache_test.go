package setup

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/flow/binding/storage"
)

// TestTheCacheKeepsNoMoreThanAgentsReport has a Work on an API that accepts statuses of any size.
func TestTheCacheKeepsNoMoreThanAgentsReport(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	work := &workv1alpha1.Work{}
	work.GenerateName = strings.Repeat("x", workv1alpha1.MaxStatuses)
	for _, bytes := range []int{workv1alpha1.MaxStatuses - 10, 11, 10, 1} {
		work.Status.ManifestStatuses = append(work.Status.ManifestStatuses,
			workv1alpha1.ManifestStatus{Status: &runtime.RawExtension{Raw: []byte(strings.Repeat("1", bytes))}, Health: workv1alpha1.Healthy})
	}
	work.Status.ManifestStatuses = append(work.Status.ManifestStatuses, workv1alpha1.ManifestStatus{})
	kept, err := stripManifests(&sharer{}, nil)(work)
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
	g.Expect(work.GenerateName).To(BeEmpty())
	g.Expect(work.Status.ManifestStatuses[1].Health).To(Equal(workv1alpha1.Healthy))
}

// TestAHubThatStartsCountsWhatThereIs checks that the size of Works is known although the cache has no manifests.
func TestAHubThatStartsCountsWhatThereIs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	work := &workv1alpha1.Work{}
	work.UID = "1"
	work.Annotations = map[string]string{contract.ResourceBindingNamespaceAnnotation: "shop", contract.ResourceBindingNameAnnotation: "web-deployment"}
	work.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(strings.Repeat("1", 10<<10))}}}
	another := work.DeepCopy()
	stored := storage.NewLedger(20 << 10)
	settle, err := stored.Admit(another, "", false)
	g.Expect(err).NotTo(HaveOccurred())
	settle(nil)
	for range 2 { // informers transform initial objects that are streamed twice
		kept, err := stripManifests(&sharer{}, stored)(work)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(kept).To(BeIdenticalTo(work))
	}
	g.Expect(work.Spec.Workload.Manifests).To(BeEmpty())
	_, err = stored.Admit(another, "", false)
	g.Expect(err).To(HaveOccurred())
}
