package rollouts

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
)

// Wave is the progress of a wave. The counts add up to Size.
type Wave struct {
	Name     string `json:"name"`
	Size     int32  `json:"size"`
	Healthy  int32  `json:"healthy"`
	InFlight int32  `json:"inFlight"`
	Failed   int32  `json:"failed"`
	Lost     int32  `json:"lost"`
	Held     int32  `json:"held"`
	SetAside int32  `json:"setAside"`
	Skipped  int32  `json:"skipped"`
	// Soak is how long it must be healthy, which it has been since WellSince.
	Soak      metav1.Duration `json:"soak"`
	StartedAt *time.Time      `json:"startedAt,omitempty"`
	WellSince *time.Time      `json:"wellSince,omitempty"`
	PassedAt  *time.Time      `json:"passedAt,omitempty"`
}

func wavesOf(status *fairleadv1alpha1.StagedRolloutStatus) []Wave {
	out := make([]Wave, len(status.Waves))
	for i := range status.Waves {
		w := &status.Waves[i]
		out[i] = Wave{
			Name: w.Name, Size: w.Size, Healthy: w.Healthy, InFlight: w.InFlight, Failed: w.Failed, Lost: w.Lost, Held: w.Held,
			SetAside: w.SetAside, Skipped: w.Skipped,
		}
		if w.Soak != nil {
			out[i].Soak = *w.Soak
		}
		if w.StartedAt != nil {
			out[i].StartedAt = &w.StartedAt.Time
		}
		if w.WellSince != nil {
			out[i].WellSince = &w.WellSince.Time
		}
		if w.PassedAt != nil {
			out[i].PassedAt = &w.PassedAt.Time
		}
	}
	return out
}

// Sum sums up waves.
func Sum(waves []Wave) Wave {
	var out Wave
	for _, w := range waves {
		out.Size += w.Size
		out.Healthy += w.Healthy
		out.InFlight += w.InFlight
		out.Failed += w.Failed
		out.Lost += w.Lost
		out.Held += w.Held
		out.SetAside += w.SetAside
		out.Skipped += w.Skipped
	}
	return out
}

// Counted describes the clusters of a wave: "28/29 healthy, 1 lost, 3 set aside". The total excludes those that are set
// aside or skipped.
func (w Wave) Counted() string {
	out := []string{fmt.Sprintf("%d/%d healthy", w.Healthy, w.Size-w.SetAside-w.Skipped)}
	for _, c := range []struct {
		n     int32
		label string
	}{{w.InFlight, "in flight"}, {w.Failed, "failed"}, {w.Lost, "lost"}, {w.Held, "held"}, {w.SetAside, "set aside"}, {w.Skipped, "skipped"}} {
		if c.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", c.n, c.label))
		}
	}
	return strings.Join(out, ", ")
}

// well says for how much of its soak time a wave has been healthy.
func (w Wave) well(now time.Time) string {
	well := min(max(now.Sub(*w.WellSince), 0), w.Soak.Duration)
	return duration.HumanDuration(well) + " of " + duration.HumanDuration(w.Soak.Duration)
}

// Progress describes the progress of a wave in a few words.
func (w Wave) Progress(now time.Time) string {
	ago := func(t *time.Time) string { return duration.HumanDuration(max(now.Sub(*t), 0)) }
	switch {
	case w.PassedAt != nil:
		return "passed " + ago(w.PassedAt) + " ago"
	case w.StartedAt == nil:
		return "not begun"
	case w.WellSince != nil && w.Soak.Duration > 0:
		return "well for " + w.well(now)
	case w.WellSince != nil:
		return "well for " + ago(w.WellSince)
	default:
		return "began " + ago(w.StartedAt) + " ago"
	}
}
