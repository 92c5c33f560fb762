package aggregate

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

func TestABindingCanBeWrittenWhateverItsClustersReport(t *testing.T) {
	t.Parallel()
	status := func(bytes int) *runtime.RawExtension {
		return &runtime.RawExtension{Raw: []byte(`{"note":"` + strings.Repeat("x", bytes) + `"}`)}
	}
	item := func(name string, s *runtime.RawExtension) workv1alpha2.AggregatedStatusItem {
		return workv1alpha2.AggregatedStatusItem{ClusterName: name, Applied: true, Status: s}
	}
	var everyone []workv1alpha2.AggregatedStatusItem
	for i := range 1000 {
		everyone = append(everyone, workv1alpha2.AggregatedStatusItem{
			ClusterName: fmt.Sprintf("edge-%d", i), AppliedMessage: strings.Repeat("ä", 20_000),
		})
	}
	cases := map[string]struct {
		items []workv1alpha2.AggregatedStatusItem
		// shown are the clusters whose status stays.
		shown []string
	}{
		"nobody reported":              {},
		"what is usual stays":          {[]workv1alpha2.AggregatedStatusItem{item("a", status(10_000)), item("b", status(10_000))}, []string{"a", "b"}},
		"the largest gives way":        {[]workv1alpha2.AggregatedStatusItem{item("a", status(100)), item("b", status(1<<20)), item("c", status(1000))}, []string{"a", "c"}},
		"as many as needed give way":   {[]workv1alpha2.AggregatedStatusItem{item("a", status(300_000)), item("b", status(400_000)), item("c", status(500_000))}, []string{"a"}},
		"a thousand long errors":       {everyone, nil},
		"of equals the first one goes": {[]workv1alpha2.AggregatedStatusItem{item("a", status(400_000)), item("b", status(400_000))}, []string{"b"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			fitTexts(tc.items)
			fitStatuses(tc.items, maxStatuses)
			var shown []string
			for _, item := range tc.items {
				if item.Status != nil {
					shown = append(shown, item.ClusterName)
				} else {
					g.Expect(item.AppliedMessage).NotTo(BeEmpty(), "it says why")
				}
			}
			g.Expect(shown).To(Equal(tc.shown))
			data, err := json.Marshal(tc.items)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(len(data)).To(BeNumerically("<", 1<<20))
		})
	}
}

func TestReasonsOfPodsGiveWayToo(t *testing.T) {
	t.Parallel()
	items := func(clusters int) []workv1alpha2.AggregatedStatusItem {
		var out []workv1alpha2.AggregatedStatusItem
		for i := range clusters {
			item := workv1alpha2.AggregatedStatusItem{ClusterName: fmt.Sprintf("edge-%04d", i), Applied: true, Health: workv1alpha1.Unhealthy}
			for range workv1alpha1.MaxPodReasons {
				item.PodReasons = append(item.PodReasons, workv1alpha1.PodReason{Reason: "ErrImagePull", Message: strings.Repeat("x", workv1alpha1.MaxPodMessage), Pods: 1, Pod: "web-1"})
			}
			out = append(out, item)
		}
		return out
	}
	for name, tc := range map[string]struct{ clusters, first, last int }{
		"few clusters keep all":                   {10, 5, 5},
		"of more the first of each":               {200, 1, 1},
		"of thousands those of the first by name": {3000, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			all := items(tc.clusters)
			fitTexts(all)
			g.Expect(all[0].PodReasons).To(HaveLen(tc.first))
			g.Expect(all[len(all)-1].PodReasons).To(HaveLen(tc.last))
			data, err := json.Marshal(all)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(len(data)).To(BeNumerically("<", 1<<20))
		})
	}
}
