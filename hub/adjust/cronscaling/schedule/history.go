package schedule

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autoscalingv1alpha1 "fairlead.dev/common/api/autoscaling/v1alpha1"
	"fairlead.dev/common/prose"
)

// The default limits of histories, as in the CRD schema.
const (
	defaultSuccessful = 3
	defaultFailed     = 3
)

// layout is the format of times in messages.
const layout = time.RFC3339

// Outcome is the result of executing a rule.
type Outcome struct {
	// Replicas are the replicas that were set.
	Replicas int32
	// Failure is why none were set; nil on success.
	Failure error
}

// Histories returns the histories after the plans were executed at a time: the previous ones, with the outcomes added.
// Outcomes are by rule name; a due rule without one is still to be executed. Histories of removed rules are dropped.
func Histories(before []autoscalingv1alpha1.ExecutionHistory, plans []Plan, outcomes map[string]Outcome, now time.Time) []autoscalingv1alpha1.ExecutionHistory {
	out := make([]autoscalingv1alpha1.ExecutionHistory, 0, len(plans))
	for i := range plans {
		p := &plans[i]
		h := autoscalingv1alpha1.ExecutionHistory{RuleName: p.Rule.Name}
		if found := slices.IndexFunc(before, func(h autoscalingv1alpha1.ExecutionHistory) bool { return h.RuleName == p.Rule.Name }); found >= 0 {
			before[found].DeepCopyInto(&h)
		}
		outcome, done := outcomes[p.Rule.Name]
		if p.Missed != nil {
			h.FailedExecutions = prepend(h.FailedExecutions, failed(p.Missed.Last, now, p.Missed.String()))
		}
		switch {
		case !done:
		case outcome.Failure != nil:
			h.FailedExecutions = prepend(h.FailedExecutions, failed(p.Due, now, outcome.Failure.Error()))
		default:
			h.SuccessfulExecutions = prepend(h.SuccessfulExecutions, autoscalingv1alpha1.SuccessfulExecution{
				ScheduleTime: timestamp(p.Due), ExecutionTime: timestamp(now), AppliedReplicas: &outcome.Replicas,
			})
		}
		h.NextExecutionTime = upcoming(p, done)
		h.SuccessfulExecutions = newest(h.SuccessfulExecutions, p.Rule.SuccessfulHistoryLimit, defaultSuccessful)
		h.FailedExecutions = newest(h.FailedExecutions, p.Rule.FailedHistoryLimit, defaultFailed)
		out = append(out, h)
	}
	return out
}

// upcoming returns the time to write as the rule's next one: a time that is due and not executed yet stays.
func upcoming(p *Plan, done bool) *metav1.Time {
	switch {
	case !p.Due.IsZero() && !done:
		return timestamp(p.Due)
	case p.Next.IsZero():
		return nil
	default:
		return timestamp(p.Next)
	}
}

// String says what was missed, and what to do about it.
func (m *Missed) String() string {
	const advice = "Missed times are not made up for: scale by hand if it matters before the next one."
	switch {
	case m.Count == 1:
		return "No hub was running, or it could not reach its API, at " + m.First.Format(layout) + ". " + advice
	case m.Count >= mostMissed:
		return fmt.Sprintf("No hub was running, or it could not reach its API, for %d times or more from %s on. %s", mostMissed, m.First.Format(layout), advice)
	default:
		return fmt.Sprintf("No hub was running, or it could not reach its API, for %d times from %s to %s. %s", m.Count, m.First.Format(layout), m.Last.Format(layout), advice)
	}
}

func failed(at, now time.Time, message string) autoscalingv1alpha1.FailedExecution {
	return autoscalingv1alpha1.FailedExecution{
		ScheduleTime: timestamp(at), ExecutionTime: timestamp(now), Message: prose.Cut(message, prose.OfCondition),
	}
}

// timestamp converts a time to the precision of the API server.
func timestamp(at time.Time) *metav1.Time {
	return new(metav1.NewTime(at.UTC().Truncate(time.Second)))
}

func prepend[T any](list []T, first T) []T { return append([]T{first}, list...) }

// newest truncates a history to a limit.
func newest[T any](list []T, limit *int32, otherwise int) []T {
	most := otherwise
	if limit != nil {
		most = max(int(*limit), 0)
	}
	return list[:min(most, len(list))]
}
