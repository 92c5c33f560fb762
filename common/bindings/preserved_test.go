package bindings_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

func TestACopyIsPreservedWhereAWorkloadThatNeedsItIs(t *testing.T) {
	t.Parallel()
	by := func(name string, preserve *bool, clusters ...string) workv1alpha2.BindingSnapshot {
		out := workv1alpha2.BindingSnapshot{Namespace: "shop", Name: name, Preserve: preserve}
		for _, cluster := range clusters {
			out.Clusters = append(out.Clusters, workv1alpha2.TargetCluster{Name: cluster})
		}
		return out
	}
	needed := func(flag *bool, by ...workv1alpha2.BindingSnapshot) workv1alpha2.ResourceBindingSpec {
		return workv1alpha2.ResourceBindingSpec{PreserveResourcesOnDeletion: flag, RequiredBy: by}
	}
	noted, selected := needed(new(true), by("kept", new(true), "a"), by("other", new(false), "b")), needed(new(true), by("kept", new(true), "a"))
	noted.PreservedIn, selected.Placement = []string{"c"}, &policyv1alpha1.Placement{}
	tests := map[string]struct {
		spec workv1alpha2.ResourceBindingSpec
		want []string
	}{
		"one of two that need it is preserved": {
			spec: needed(new(true), by("kept", new(true), "a"), by("other", new(false), "a", "b")), want: []string{"a"},
		},
		"both are":                   {spec: needed(new(true), by("kept", new(true), "a"), by("other", new(true), "b")), want: []string{"a", "b"}},
		"neither is":                 {spec: needed(new(false), by("kept", new(false), "a"), by("other", new(false), "b"))},
		"one was where it left":      {spec: noted, want: []string{"a", "c"}},
		"a policy selects it":        {spec: selected, want: []string{"a", "b", "c"}},
		"an older hub wrote of one":  {spec: needed(new(true), by("kept", new(true), "a"), by("other", nil, "b")), want: []string{"a", "b", "c"}},
		"an older hub found it so":   {spec: needed(new(true), by("kept", new(false), "a")), want: []string{"a", "b", "c"}},
		"an older hub found it not":  {spec: needed(new(false), by("kept", new(true), "a"))},
		"nothing is known of anyone": {spec: needed(nil, by("kept", nil, "a"))},
		"nothing says so":            {},
		"its policy does":            {spec: workv1alpha2.ResourceBindingSpec{PreserveResourcesOnDeletion: new(true)}, want: []string{"a", "b", "c"}},
		"it is noted for some":       {spec: workv1alpha2.ResourceBindingSpec{PreserveResourcesOnDeletion: new(false), PreservedIn: []string{"a", "c"}}, want: []string{"a", "c"}},
		"it is noted for two":        {spec: workv1alpha2.ResourceBindingSpec{PreservedIn: []string{"a", "b"}}, want: []string{"a", "b"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			preserved := bindings.Preserving(&tt.spec)
			var one, many []string
			for _, cluster := range []string{"a", "b", "c"} {
				if bindings.Preserved(&tt.spec, cluster) {
					one = append(one, cluster)
				}
				if preserved(cluster) {
					many = append(many, cluster)
				}
			}
			NewWithT(t).Expect(one).To(Equal(tt.want))
			NewWithT(t).Expect(many).To(Equal(tt.want))
		})
	}
}

// BenchmarkWhereItStays asks for each of many clusters whether an object is preserved there.
func BenchmarkWhereItStays(b *testing.B) {
	var spec workv1alpha2.ResourceBindingSpec
	for i := range 5_000 {
		spec.PreservedIn = append(spec.PreservedIn, fmt.Sprintf("cluster-%04d", i))
	}
	for b.Loop() {
		preserved := bindings.Preserving(&spec)
		for _, cluster := range spec.PreservedIn {
			if !preserved(cluster) {
				b.Fatal(cluster)
			}
		}
	}
}
