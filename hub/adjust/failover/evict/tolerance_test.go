package evict

import (
	"math"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"fairlead.dev/common/contract"
)

func TestHowLongAnApplicationMayStay(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	taint := func(key string, effect corev1.TaintEffect, after int) corev1.Taint {
		return corev1.Taint{Key: key, Effect: effect, TimeAdded: &metav1.Time{Time: start.Add(time.Duration(after) * time.Second)}}
	}
	lost := taint("lost", corev1.TaintEffectNoExecute, 0)
	exists := func(key string, seconds ...int64) corev1.Toleration {
		out := corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists}
		if len(seconds) > 0 {
			out.TolerationSeconds = &seconds[0]
		}
		return out
	}
	const forever, now = math.MaxInt, math.MinInt
	tests := map[string]struct {
		taints      []corev1.Taint
		tolerations []corev1.Toleration
		// want is the second at which the application must leave.
		want int
	}{
		"no taint":                                   {want: forever},
		"a taint that only keeps away":               {taints: []corev1.Taint{taint("a", corev1.TaintEffectNoSchedule, 0)}, want: forever},
		"a taint of silence that nobody speaks of":   {taints: []corev1.Taint{taint("silent", corev1.TaintEffectNoExecute, 0)}, want: 300},
		"a taint of silence that is spoken of":       {taints: []corev1.Taint{taint("silent", corev1.TaintEffectNoExecute, 0)}, tolerations: []corev1.Toleration{exists("silent", 5)}, want: 5},
		"a taint of silence that is borne":           {taints: []corev1.Taint{taint("silent", corev1.TaintEffectNoExecute, 0)}, tolerations: []corev1.Toleration{exists("")}, want: forever},
		"the hub's own taint of silence":             {taints: []corev1.Taint{taint(contract.TaintClusterUnreachable, corev1.TaintEffectNoExecute, 0)}, want: 300},
		"a taint that nobody tolerates":              {taints: []corev1.Taint{lost}, want: now},
		"a taint that is tolerated":                  {taints: []corev1.Taint{lost}, tolerations: []corev1.Toleration{exists("lost")}, want: forever},
		"a taint that is tolerated for a while":      {taints: []corev1.Taint{lost}, tolerations: []corev1.Toleration{exists("lost", 300)}, want: 300},
		"a toleration of more than a duration holds": {taints: []corev1.Taint{lost}, tolerations: []corev1.Toleration{exists("lost", 9_999_999_999)}, want: 9_223_372_036},
		"a toleration of the largest number":         {taints: []corev1.Taint{lost}, tolerations: []corev1.Toleration{exists("lost", math.MaxInt64)}, want: 9_223_372_036},
		"a toleration of nothing":                    {taints: []corev1.Taint{lost}, tolerations: []corev1.Toleration{exists("lost", 0)}, want: 0},
		"a toleration of less than nothing":          {taints: []corev1.Taint{lost}, tolerations: []corev1.Toleration{exists("lost", -5)}, want: 0},
		"the first toleration counts":                {taints: []corev1.Taint{lost}, tolerations: []corev1.Toleration{exists("", 60), exists("lost", 300)}, want: 60},
		"a toleration of everything":                 {taints: []corev1.Taint{lost, taint("b", corev1.TaintEffectNoExecute, 0)}, tolerations: []corev1.Toleration{exists("")}, want: forever},
		"the first to expire counts":                 {taints: []corev1.Taint{lost, taint("b", corev1.TaintEffectNoExecute, 10)}, tolerations: []corev1.Toleration{exists("lost", 300), exists("b", 60)}, want: 70},
		"one that is not tolerated wins":             {taints: []corev1.Taint{lost, taint("b", corev1.TaintEffectNoExecute, 10)}, tolerations: []corev1.Toleration{exists("lost", 300)}, want: now},
		"a toleration of another effect":             {taints: []corev1.Taint{lost}, tolerations: []corev1.Toleration{{Key: "lost", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}, want: now},
		"a toleration of another value":              {taints: []corev1.Taint{lost}, tolerations: []corev1.Toleration{{Key: "lost", Value: "x"}}, want: now},
		"a toleration of the value":                  {taints: []corev1.Taint{lost}, tolerations: []corev1.Toleration{{Key: "lost"}}, want: forever},
		"an operator that is not for clusters":       {taints: []corev1.Taint{lost}, tolerations: []corev1.Toleration{{Key: "lost", Operator: "Lt"}}, want: now},
		"a taint that does not say since when":       {taints: []corev1.Taint{{Key: "lost", Effect: corev1.TaintEffectNoExecute}}, tolerations: []corev1.Toleration{exists("lost", 1)}, want: forever},
		"an empty key tolerates only with Exists":    {taints: []corev1.Taint{lost}, tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpEqual}}, want: now},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got := tolerate(tc.taints, tc.tolerations, sets.New("silent"))
			switch tc.want {
			case forever:
				g.Expect(got.Forever).To(BeTrue())
				g.Expect(got.Expired(start.Add(1000 * time.Hour))).To(BeFalse())
				g.Expect(got.Why("edge-1")).To(BeEmpty())
			case now:
				g.Expect(got.Expired(start.Add(-time.Hour))).To(BeTrue())
				g.Expect(got.Why("edge-1")).To(ContainSubstring("does not tolerate"))
			default:
				at := start.Add(time.Duration(tc.want) * time.Second)
				g.Expect(got.Expired(at.Add(-time.Second))).To(BeFalse())
				g.Expect(got.Expired(at)).To(BeTrue())
				g.Expect(got.Why("edge-1")).To(MatchRegexp(`for [0-9]+ s`))
			}
		})
	}
}
