package schedule

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autoscalingv1alpha1 "fairlead.dev/common/api/autoscaling/v1alpha1"
)

// Grace is how late a rule may still be executed: as long as it takes to elect another hub, or until the API server is
// back. Later than that, the time was missed.
const Grace = 30 * time.Second

// mostMissed bounds how many missed times of a rule are counted: a rule that is due every minute has half a million in
// a year.
const mostMissed = 1000

// Input is what decides which rules of a CronFederatedHPA are due.
type Input struct {
	// Rules are the present rules.
	Rules []autoscalingv1alpha1.CronFederatedHPARule
	// Histories are the histories as last written.
	Histories []autoscalingv1alpha1.ExecutionHistory
	// Edited is when the rules were last edited, if no decision was made since: a rule without a history is first due
	// after that. If it is zero, the rule is first due after Now.
	Edited time.Time
	// Tables caches the parsed schedules between decisions; nil for no cache.
	Tables *Timetables
	// Now is the present time in the hub's time zone.
	Now time.Time
}

// Plan is the decision about one rule.
type Plan struct {
	// Rule is the rule.
	Rule *autoscalingv1alpha1.CronFederatedHPARule
	// Due is the time for which the rule must be executed now; zero if there is none.
	Due time.Time
	// Missed are the times that passed without an execution; nil if there are none.
	Missed *Missed
	// Next is when the rule is due next; zero if it is suspended or invalid.
	Next time.Time
	// Problem is why an invalid rule cannot be followed; nil if it can.
	Problem error
}

// Missed are times of a rule that passed without an execution.
type Missed struct {
	// First and Last are the first and last of those that were counted.
	First, Last time.Time
	// Count is their number; a thousand means a thousand or more.
	Count int
}

// Decide returns the plan for each rule, in the order of the rules.
func Decide(in Input) []Plan {
	if in.Tables == nil {
		in.Tables = &Timetables{}
	}
	plans := make([]Plan, len(in.Rules))
	for i := range in.Rules {
		plans[i] = decide(&in, &in.Rules[i])
	}
	return plans
}

func decide(in *Input, rule *autoscalingv1alpha1.CronFederatedHPARule) Plan {
	p := Plan{Rule: rule}
	if suspended(rule) {
		return p
	}
	times, err := timesOf(in.Tables, rule, in.Now)
	if err == nil {
		p.Next, err = times.next(in.Now)
	}
	if err != nil {
		p.Problem = err
		return p
	}
	for at := waiting(in, rule, times); !at.IsZero() && !at.After(in.Now); {
		from := at
		if in.Now.Sub(at) <= Grace {
			p.Due = at // if several are within the grace period, only the last one counts
		} else if p.Missed = p.Missed.and(at); p.Missed.Count == mostMissed {
			from = in.Now.Add(-Grace - time.Second)
		}
		following, err := times.next(from)
		if err != nil {
			break // there is no later time
		}
		at = following
	}
	return p
}

// waiting returns the first time for which a rule was not executed yet: the next time in its history, unless an edit of
// the rule removed that time or added an earlier one.
func waiting(in *Input, rule *autoscalingv1alpha1.CronFederatedHPARule, times times) time.Time {
	var history autoscalingv1alpha1.ExecutionHistory
	if i := slices.IndexFunc(in.Histories, func(h autoscalingv1alpha1.ExecutionHistory) bool { return h.RuleName == rule.Name }); i >= 0 {
		history = in.Histories[i]
	}
	var first time.Time
	if !in.Edited.IsZero() {
		// The API server records edits in whole seconds by its own clock, so an edit may appear to precede an execution
		// that it followed.
		edited := in.Edited
		if last := lastOf(&history, in.Now); last.After(edited) {
			edited = last
		}
		if at, err := times.next(edited.In(in.Now.Location())); err == nil {
			first = at
		}
	}
	if history.NextExecutionTime == nil {
		return first
	}
	at := history.NextExecutionTime.In(in.Now.Location())
	if !times.has(at) || !first.IsZero() && first.Before(at) {
		return first
	}
	return at
}

// lastOf returns the last time of a rule that its history shows as handled; zero if there is none. Times in the future
// are ignored: they were written with a clock that has since been corrected.
func lastOf(h *autoscalingv1alpha1.ExecutionHistory, now time.Time) time.Time {
	var last time.Time
	note := func(at *metav1.Time) {
		if at != nil && at.After(last) && !at.After(now) {
			last = at.Time
		}
	}
	for i := range h.SuccessfulExecutions {
		note(h.SuccessfulExecutions[i].ScheduleTime)
	}
	for i := range h.FailedExecutions {
		note(h.FailedExecutions[i].ScheduleTime)
	}
	return last
}

// and adds a missed time.
func (m *Missed) and(at time.Time) *Missed {
	if m == nil {
		return &Missed{First: at, Last: at, Count: 1}
	}
	m.Last = at
	m.Count++
	return m
}

func suspended(rule *autoscalingv1alpha1.CronFederatedHPARule) bool {
	return rule.Suspend != nil && *rule.Suspend
}

// InOrder returns the plans that are due in the order of execution: by time, and at the same time in the order of the
// rules.
func InOrder(plans []Plan) []*Plan {
	var out []*Plan
	for i := range plans {
		if !plans[i].Due.IsZero() {
			out = append(out, &plans[i])
		}
	}
	slices.SortStableFunc(out, func(a, b *Plan) int { return a.Due.Compare(b.Due) })
	return out
}
