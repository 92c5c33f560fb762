package plan_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/agent/execution/plan"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

func TestABrakeHoldsWhatIsMoreThanBothOfItsBounds(t *testing.T) {
	t.Parallel()
	brake := func(objects, percent int32) *clusterv1alpha1.DeletionBrake {
		return &clusterv1alpha1.DeletionBrake{Objects: objects, Percent: percent}
	}
	for name, tc := range map[string]struct {
		limit      *clusterv1alpha1.DeletionBrake
		going, all int
		want       bool
	}{
		"without a brake all may go":               {nil, 1000, 1000, false},
		"as many as it says may go":                {brake(10, 0), 10, 10, false},
		"one more may not":                         {brake(10, 0), 11, 1000, true},
		"a small share may go, however many":       {brake(10, 20), 200, 1000, false},
		"a bit more may not":                       {brake(10, 20), 201, 1000, true},
		"few may go, whatever their share":         {brake(10, 20), 10, 10, false},
		"nothing may go where nothing is to go":    {brake(0, 0), 1, 1000, true},
		"all of them are not more than the whole":  {brake(0, 100), 1000, 1000, false},
		"of nothing, nothing goes and nothing can": {brake(0, 0), 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(plan.Brakes(tc.limit, tc.going, tc.all)).To(Equal(tc.want))
		})
	}
}
