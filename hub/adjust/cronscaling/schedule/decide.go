package schedule

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autoscalingv1alpha1 "fairlead.dev/common/api/autoscaling/v1alpha1"
)

// Grace is how late a rule is still followed: as long as another hub takes to be elected, or the API
// server to come back. What is later was missed.
const Grace = 30 * time.Second

// mostMissed bounds how many missed times of a rule are counted: of one that is due every minute there are
// half a million in a year.
const mostMissed = 1000

// Input is what the times of a CronFederatedHPA depend on.
type Input struct {
	// Rules as they are now.
	Rules []autoscalingv1alpha1.CronFederatedHPARule
	// Histories as they were last written.
	Histories []autoscalingv1alpha1.ExecutionHistory
	// Edited is when the rules became what they are, if they were not looked at since: a rule whose
	// history does not know them yet has its first time after that. Zero: after now.
	Edited time.Time
	// Tables remembers what schedules name from one decision to the next; nil if nothing does.
	Tables *Timetables
	// Now in the time zone of the hub.
	Now time.Time
}

// Plan is what becomes of one rule.
type Plan struct {
	// Rule as it is now.
	Rule *autoscalingv1alpha1.CronFederatedHPARule
	// Due is the time for which the rule has to be followed now; zero if there is none.
	Due time.Time
	// Missed are the times that went by without the rule being followed; nil if there are none.
	Missed *Missed
	// Next is when the rule is due next; zero if it is suspended or invalid.
	Next time.Time
	// Problem is why an invalid rule cannot be followed; nil if it can.
	Problem error
}

// Missed are times of a rule that went by.
type Missed struct {
	// First and Last of those that were counted.
	First, Last time.Time
	// Count of them; a thousand stands for more as well.
	Count int
}

// Decide returns what becomes of each rule, in the order of the rules.
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
			p.Due = at // of several within the grace the last one
		} else if p.Missed = p.Missed.and(at); p.Missed.Count == mostMissed {
			from = in.Now.Add(-Grace - time.Second)
		}
		following, err := times.next(from)
		if err != nil {
			break // it was the last one for ever
		}
		at = following
	}
	return p
}

// waiting returns the first time for which a rule was not followed yet: what its history says, unless
// the rule was edited in such a way that it is not due then, or is due before.
func waiting(in *Input, rule *autoscalingv1alpha1.CronFederatedHPARule, times times) time.Time {
	var history autoscalingv1alpha1.ExecutionHistory
	if i := slices.IndexFunc(in.Histories, func(h autoscalingv1alpha1.ExecutionHistory) bool { return h.RuleName == rule.Name }); i >= 0 {
		history = in.Histories[i]
	}
	var first time.Time
	if !in.Edited.IsZero() {
		// The API server notes edits in whole seconds, by a clock of its own, so an edit after a time may be noted as one before it.
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

// lastOf returns the last time of a rule that is done with, as far as its history goes; zero if there is none. A time yet to come is of a
// clock that was put right since.
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

// and adds a time that went by.
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

// InOrder returns the plans of rules that are due, in the order in which they are to be followed: that of
// their times, and at the same time that of the rules.
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
