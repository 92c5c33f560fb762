package plan

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
)

// Defaulted returns a strategy with the API server's defaults, and with the implicit last wave of all clusters that are in no other. The
// default of firstTime depends on the waves, and is therefore set only here.
func Defaulted(spec fairleadv1alpha1.RolloutStrategySpec) fairleadv1alpha1.RolloutStrategySpec {
	out := *spec.DeepCopy()
	if len(out.Waves) == 0 {
		out.Waves = []fairleadv1alpha1.Wave{
			{Name: "canary", Size: new(intstr.FromInt32(1))},
			{Name: "tenth", Size: new(intstr.FromString("10%"))},
		}
	}
	if last := &out.Waves[len(out.Waves)-1]; last.Clusters != nil || last.Size != nil {
		out.Waves = append(out.Waves, fairleadv1alpha1.Wave{Name: fairleadv1alpha1.WaveRest})
	}
	for i := range out.Waves {
		w := &out.Waves[i]
		setDefault(&w.MaxConcurrent, intstr.FromString("100%"))
		setDefault(&w.MinUpdated, 1)
		setDefault(&w.Soak, metav1.Duration{})
		setDefault(&w.MaxFailures, intstr.FromInt32(0))
		if w.Approval == "" {
			w.Approval = fairleadv1alpha1.ApprovalNone
		}
	}
	setDefault(&out.Settle, metav1.Duration{Duration: 2 * time.Second})
	setDefault(&out.ProgressDeadline, metav1.Duration{Duration: 10 * time.Minute})
	setDefault(&out.HistoryLimit, 10)
	setDefault(&out.CatchUp.MaxClusters, 10)
	setDefault(&out.CatchUp.Settle, metav1.Duration{Duration: time.Minute})
	setDefault(&out.CatchUp.WarnAfter, metav1.Duration{Duration: 7 * 24 * time.Hour})
	if out.CatchUp.To == "" {
		out.CatchUp.To = fairleadv1alpha1.CatchUpToStable
	}
	if out.OnFailure == "" {
		out.OnFailure = fairleadv1alpha1.OnFailureHalt
	}
	if out.FirstTime == "" {
		out.FirstTime = fairleadv1alpha1.FirstTimeAllAtOnce
		if slices.ContainsFunc(out.Waves, asksApproval) {
			out.FirstTime = fairleadv1alpha1.FirstTimeStaged
		}
	}
	return out
}

// AsksApproval returns whether any wave of a strategy needs approval.
func AsksApproval(spec fairleadv1alpha1.RolloutStrategySpec) bool {
	return slices.ContainsFunc(Defaulted(spec).Waves, asksApproval)
}

func asksApproval(w fairleadv1alpha1.Wave) bool { return w.Approval != fairleadv1alpha1.ApprovalNone }

func setDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

// Scaled returns the value of a number or percentage of a total, rounded up or down; 0 if it is invalid, so that an invalid value never
// permits anything.
func Scaled(value *intstr.IntOrString, of int, up bool) int {
	n, err := intstr.GetScaledValueFromIntOrPercent(value, of, up)
	if err != nil {
		return 0
	}
	return max(n, 0)
}
