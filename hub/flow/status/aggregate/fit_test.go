package aggregate

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/runtime"

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
			fit(tc.items)
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
