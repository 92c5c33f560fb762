package plan

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

func TestTooLarge(t *testing.T) {
	t.Parallel()
	naming := func(bytes int) *policyv1alpha1.PropagationSpec {
		return &policyv1alpha1.PropagationSpec{Placement: policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{strings.Repeat("x", bytes)}}}}
	}
	selecting := func(bytes int) Demand {
		return Demand{Requirements: &workv1alpha2.ReplicaRequirements{NodeClaim: &workv1alpha2.NodeClaim{NodeSelector: map[string]string{"x": strings.Repeat("x", bytes)}}}}
	}
	suspending := func(bytes int) *policyv1alpha1.PropagationSpec {
		return &policyv1alpha1.PropagationSpec{Suspension: &policyv1alpha1.Suspension{DispatchingOnClusters: &policyv1alpha1.SuspendClusters{ClusterNames: []string{strings.Repeat("x", bytes)}}}}
	}
	tests := map[string]struct {
		desired Desired
		want    string
	}{
		"little":                         {desired: Desired{Policy: naming(100), Demand: selecting(100)}},
		"the longest placement":          {desired: Desired{Policy: naming(255 << 10)}},
		"a longer one":                   {desired: Desired{Policy: naming(300 << 10)}, want: "name fewer"},
		"a long suspension":              {desired: Desired{Policy: suspending(300 << 10)}, want: "name fewer"},
		"long node requirements of pods": {desired: Desired{Policy: naming(1), Demand: selecting(70 << 10)}, want: "of the template"},
		"both at their limits":           {desired: Desired{Policy: naming(255 << 10), Demand: selecting(63 << 10)}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			if tt.want == "" {
				g.Expect(tt.desired.TooLarge()).To(BeEmpty())
				return
			}
			g.Expect(tt.desired.TooLarge()).To(ContainSubstring(tt.want))
		})
	}
}
