package schedule_test

import (
	"errors"
	"testing"
	"time"

	"github.com/adhocore/gronx"
	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autoscalingv1alpha1 "fairlead.dev/common/api/autoscaling/v1alpha1"
	"fairlead.dev/hub/adjust/cronscaling/schedule"
)

type (
	rule    = autoscalingv1alpha1.CronFederatedHPARule
	history = autoscalingv1alpha1.ExecutionHistory
)

// at parses a time such as 2026-03-28 12:00:30, in UTC or in the given zone.
func at(t *testing.T, text string, zone ...string) time.Time {
	t.Helper()
	t.Helper()
	in := time.UTC
	if len(zone) > 0 {
		var err error
		in, err = time.LoadLocation(zone[0])
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
	}
	out, err := time.ParseInLocation(time.DateTime, text, in)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return out
}

func cron(times string, change ...func(*rule)) rule {
	r := rule{Name: "r", Schedule: times, TargetReplicas: new(int32(3))}
	for _, c := range change {
		c(&r)
	}
	return r
}

func in(zone string) func(*rule) { return func(r *rule) { r.TimeZone = &zone } }

func suspended(r *rule) { r.Suspend = new(true) }

func waits(next time.Time) []history {
	return []history{{RuleName: "r", NextExecutionTime: new(metav1.NewTime(next))}}
}

func decide(r rule, histories []history, now time.Time) schedule.Plan {
	return schedule.Decide(schedule.Input{Rules: []rule{r}, Histories: histories, Now: now})[0]
}

func TestNextTime(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		rule      rule
		now, want string
		zone      string
	}{
		"the next minute":                             {cron("* * * * *"), "2026-03-28 12:00:30", "2026-03-28 12:01:00", "UTC"},
		"never the time that it is":                   {cron("0 12 * * *"), "2026-03-28 12:00:00", "2026-03-29 12:00:00", "UTC"},
		"days of the week by name":                    {cron("30 8 * * MON-FRI"), "2026-03-28 12:00:00", "2026-03-30 08:30:00", "UTC"},
		"a day of the month or one of the week":       {cron("0 0 13 * 5"), "2026-03-28 12:00:00", "2026-04-03 00:00:00", "UTC"},
		"a leap day":                                  {cron("0 0 29 2 *"), "2026-03-28 12:00:00", "2028-02-29 00:00:00", "UTC"},
		"a word":                                      {cron("@daily"), "2026-03-28 12:00:00", "2026-03-29 00:00:00", "UTC"},
		"a time zone":                                 {cron("0 8 * * *", in("Asia/Tokyo")), "2026-03-28 12:00:00", "2026-03-28 23:00:00", "UTC"},
		"summer time":                                 {cron("0 8 * * *", in("Europe/Berlin")), "2026-03-29 12:00:00", "2026-03-30 06:00:00", "UTC"},
		"the hub's time zone where none is named":     {cron("0 8 * * *"), "2026-03-28 12:00:00", "2026-03-29 08:00:00", "America/New_York"},
		"a time that the change of clocks leaves out": {cron("30 2 * * *"), "2026-03-28 12:00:00", "2026-03-30 02:30:00", "Europe/Berlin"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			p := decide(tt.rule, nil, at(t, tt.now, tt.zone))
			g.Expect(p.Problem).NotTo(HaveOccurred())
			g.Expect(p.Next).To(BeTemporally("==", at(t, tt.want, tt.zone)))
			g.Expect(p.Due).To(BeZero(), "it is not known to have waited")
		})
	}
}

// Where the clocks go forward at midnight, that day has no midnight. The schedules name every day of the week, every
// day of the month, and both.
func TestTheTimesOfARuleAreThoseThatTheClocksShow(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"America/Santiago", "America/Havana", "Atlantic/Azores", "Australia/Lord_Howe", "Europe/Berlin"} {
		for _, times := range []string{"0 8 * * 1-5", "0 8 1 * *", "30 0 7 * 2", "30 2 * * *", "0 23,0-3 * 3,9,10 0,6"} {
			t.Run(zone+" "+times, func(t *testing.T) {
				t.Parallel()
				g := NewWithT(t)
				now := at(t, "2024-01-01 00:00:00", zone)
				end := now.AddDate(0, 11, 15)
				want := shown(t, times, now, end)
				for i := 0; now.Before(end); i++ {
					p := decide(cron(times, in(zone)), nil, now)
					g.Expect(p.Problem).NotTo(HaveOccurred())
					g.Expect(p.Next).To(BeTemporally(">", now))
					if i == len(want) {
						g.Expect(p.Next).To(BeTemporally(">=", end))
						return
					}
					g.Expect(p.Next).To(BeTemporally("==", want[i]), p.Next.String())
					now = p.Next
				}
			})
		}
	}
}

// shown returns the times between from and end that a schedule names, each once, found by checking the clock every half
// hour. Only for schedules of full and half hours.
func shown(t *testing.T, times string, from, end time.Time) []time.Time {
	t.Helper()
	const half = 30 * time.Minute
	var out []time.Time
	was := map[string]bool{}
	for now := from.Add(half).Truncate(half); now.Before(end); now = now.Add(half) {
		now = now.In(from.Location())
		clock := now.Format("2006-01-02 15:04")
		due, err := gronx.New().IsDue(times, now)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		if due && !was[clock] && now.After(from) {
			out = append(out, now)
		}
		was[clock] = true
	}
	return out
}

func TestATimeThatTheChangeOfClocksRepeatsCountsOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := at(t, "2026-10-24 12:00:00", "Europe/Berlin")
	var days []int
	for histories := []history(nil); now.Before(at(t, "2026-10-27 12:00:00", "Europe/Berlin")); now = now.Add(10 * time.Minute) {
		p := decide(cron("30 2 * * *"), histories, now)
		outcomes := map[string]schedule.Outcome{}
		if !p.Due.IsZero() {
			days = append(days, now.Day())
			outcomes["r"] = schedule.Outcome{}
		}
		g.Expect(p.Missed).To(BeNil())
		histories = schedule.Histories(histories, []schedule.Plan{p}, outcomes, now)
	}
	g.Expect(days).To(Equal([]int{25, 26, 27}))
}

func TestInvalidRulesAreRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		rule rule
		want string
	}{
		"letters":                       {cron("a b c d e"), `schedule "a b c d e": one of its fields is not valid: minute 0-59`},
		"a minute that no hour has":     {cron("60 * * * *"), "one of its fields is not valid"},
		"a range from the end":          {cron("0 5-1 * * *"), "one of its fields is not valid"},
		"a step of nothing":             {cron("*/0 * * * *"), "one of its fields is not valid"},
		"too little":                    {cron("* * *"), "it has 3 fields instead of five"},
		"seconds":                       {cron("0 * * * * *"), "it has 6 fields instead of five"},
		"a word that is none":           {cron("@often"), "there is no such word"},
		"every second":                  {cron("@everysecond"), "there is no such word"},
		"a day that no calendar has":    {cron("0 0 30 2 *"), `schedule "0 0 30 2 *": it names a time that never comes`},
		"a day that never has the hour": {cron("30 2 * 3 0#2", in("America/New_York")), "it names a time that never comes"},
		"a time zone that is none":      {cron("* * * * *", in("Mars/Olympus")), `timeZone "Mars/Olympus": there is no such time zone`},
		"whatever zone the hub's is":    {cron("* * * * *", in("Local")), "there is no such time zone"},
		"a time zone within the field":  {cron("TZ=UTC 0 0 * * *"), "it has 6 fields"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			now := at(t, "2026-03-28 12:00:00")
			p := decide(tt.rule, waits(now), now)
			g.Expect(p.Problem).To(MatchError(ContainSubstring(tt.want)))
			g.Expect(p.Next).To(BeZero())
			g.Expect(p.Due).To(BeZero())
		})
	}
}

func TestDueAndMissedTimes(t *testing.T) {
	t.Parallel()
	const daily, minutely = "0 12 * * *", "* * * * *"
	tests := map[string]struct {
		rule       rule
		waits, now string
		due        string
		missed     int
	}{
		"not yet":                                  {cron(daily), "2026-03-28 12:00:00", "2026-03-28 11:59:59", "", 0},
		"at the time":                              {cron(daily), "2026-03-28 12:00:00", "2026-03-28 12:00:00", "2026-03-28 12:00:00", 0},
		"a little later":                           {cron(daily), "2026-03-28 12:00:00", "2026-03-28 12:00:30", "2026-03-28 12:00:00", 0},
		"too late":                                 {cron(daily), "2026-03-28 12:00:00", "2026-03-28 12:00:31", "", 1},
		"after days":                               {cron(daily), "2026-03-28 12:00:00", "2026-03-31 11:00:00", "", 3},
		"after days, just in time":                 {cron(daily), "2026-03-28 12:00:00", "2026-03-31 12:00:05", "2026-03-31 12:00:00", 3},
		"after a year of minutes":                  {cron(minutely), "2025-03-28 12:00:00", "2026-03-31 12:00:05", "2026-03-31 12:00:00", 1000},
		"suspended meanwhile":                      {cron(daily, suspended), "2026-03-28 12:00:00", "2026-03-31 12:00:05", "", 0},
		"another schedule meanwhile":               {cron("0 13 * * *"), "2026-03-28 12:00:00", "2026-03-31 13:00:05", "", 0},
		"another time zone meanwhile":              {cron(daily, in("Asia/Tokyo")), "2026-03-28 12:00:00", "2026-03-31 13:00:05", "", 0},
		"an earlier time than that which it waits": {cron(minutely), "2026-03-28 12:00:00", "2026-03-28 11:30:10", "", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			p := decide(tt.rule, waits(at(t, tt.waits)), at(t, tt.now))
			if tt.due == "" {
				g.Expect(p.Due).To(BeZero())
			} else {
				g.Expect(p.Due).To(BeTemporally("==", at(t, tt.due)))
			}
			if tt.missed == 0 {
				g.Expect(p.Missed).To(BeNil())
			} else {
				g.Expect(p.Missed).NotTo(BeNil())
				g.Expect(p.Missed.Count).To(Equal(tt.missed))
				g.Expect(p.Missed.First).To(BeTemporally("==", at(t, tt.waits)))
			}
		})
	}
}

func TestARuleThatNobodyHasSeenYet(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := schedule.Input{Rules: []rule{cron("0 12 * * *")}, Edited: at(t, "2026-03-27 11:00:00"), Now: at(t, "2026-03-28 13:00:00")}
	g.Expect(schedule.Decide(in)[0].Missed.Count).To(Equal(2), "it was made while no hub worked")
	in.Edited = time.Time{}
	g.Expect(schedule.Decide(in)[0].Missed).To(BeNil(), "it came by an edit, nobody knows when")
}

func TestHistories(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := at(t, "2026-03-28 12:00:01")
	r := cron("0 12 * * *", func(r *rule) { r.SuccessfulHistoryLimit, r.FailedHistoryLimit = new(int32(2)), new(int32(1)) })
	histories := append(waits(at(t, "2026-03-28 12:00:00")), history{RuleName: "removed"})

	step := func(outcomes map[string]schedule.Outcome) {
		p := decide(r, histories, now)
		histories = schedule.Histories(histories, []schedule.Plan{p}, outcomes, now)
		g.Expect(histories).To(HaveLen(1), "that of the rule which was removed is gone")
	}
	step(nil)
	g.Expect(histories[0].NextExecutionTime.Time).To(BeTemporally("==", at(t, "2026-03-28 12:00:00")), "it is still to be done")
	for day := range 4 {
		step(map[string]schedule.Outcome{"r": {Replicas: int32(day)}})
		now = now.Add(24 * time.Hour)
	}
	g.Expect(histories[0].SuccessfulExecutions).To(HaveLen(2))
	newest := histories[0].SuccessfulExecutions[0]
	g.Expect(*newest.AppliedReplicas).To(Equal(int32(3)), "the newest first")
	g.Expect(newest.ScheduleTime.Time).To(BeTemporally("==", at(t, "2026-03-31 12:00:00")))
	g.Expect(newest.ExecutionTime.Time).To(BeTemporally("==", at(t, "2026-03-31 12:00:01")))
	g.Expect(histories[0].NextExecutionTime.Time).To(BeTemporally("==", at(t, "2026-04-01 12:00:00")))

	step(map[string]schedule.Outcome{"r": {Failure: errors.New("no such Deployment")}})
	g.Expect(histories[0].FailedExecutions).To(HaveExactElements(HaveField("Message", "no such Deployment")))
	g.Expect(histories[0].SuccessfulExecutions).To(HaveLen(2), "those stay")

	now = at(t, "2026-04-05 13:00:00")
	step(nil)
	g.Expect(histories[0].FailedExecutions).To(HaveExactElements(HaveField("Message",
		"No hub was running, or it could not reach its API, for 4 times from 2026-04-02T12:00:00Z to 2026-04-05T12:00:00Z. Missed times are not made up for: scale by hand if it matters before the next one.")))
	g.Expect(histories[0].NextExecutionTime.Time).To(BeTemporally("==", at(t, "2026-04-06 12:00:00")))

	again := histories
	step(nil)
	g.Expect(histories).To(Equal(again), "what was said is not said again")

	r.FailedHistoryLimit, r.Suspend = new(int32(0)), new(true)
	step(nil)
	g.Expect(histories[0].FailedExecutions).To(BeEmpty())
	g.Expect(histories[0].NextExecutionTime).To(BeNil())
	g.Expect(histories[0].SuccessfulExecutions).To(HaveLen(2), "a rule that is suspended keeps its history")
}

// TestTheFirstTimeAfterAnEditIsNotLost looks at rules that were edited after a time at which they were looked at last.
func TestTheFirstTimeAfterAnEditIsNotLost(t *testing.T) {
	t.Parallel()
	const edited = "2026-03-28 08:55:00"
	tests := map[string]struct {
		rule       rule
		next, now  string // next is what the history says, now is when the rule is looked at
		due, first string // first is the first missed time
	}{
		"a rule that was added":                              {cron("0 9 * * *"), "", "2026-03-28 09:00:10", "2026-03-28 09:00:00", ""},
		"one whose time was missed":                          {cron("0 9 * * *"), "", "2026-03-28 09:10:00", "", "2026-03-28 09:00:00"},
		"one that is to come":                                {cron("0 9 * * *"), "", "2026-03-28 08:59:00", "", ""},
		"one that was due before it was added":               {cron("50 8 * * *"), "", "2026-03-28 09:10:00", "", ""},
		"one that is due at another time":                    {cron("0 9 * * *"), "2026-03-28 10:30:00", "2026-03-28 09:00:10", "2026-03-28 09:00:00", ""},
		"one that is due at more times":                      {cron("0 9,10 * * *"), "2026-03-28 10:00:00", "2026-03-28 09:00:10", "2026-03-28 09:00:00", ""},
		"one that is due as before, and was before the edit": {cron("50 * * * *"), "2026-03-28 08:50:00", "2026-03-28 09:10:00", "", "2026-03-28 08:50:00"},
		"one that is suspended":                              {cron("0 9 * * *", suspended), "", "2026-03-28 09:00:10", "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			in := schedule.Input{Rules: []rule{tt.rule}, Edited: at(t, edited), Now: at(t, tt.now)}
			if tt.next != "" {
				in.Histories = waits(at(t, tt.next))
			}
			p := schedule.Decide(in)[0]
			if tt.due == "" {
				g.Expect(p.Due).To(BeZero())
			} else {
				g.Expect(p.Due).To(BeTemporally("==", at(t, tt.due)))
			}
			if tt.first == "" {
				g.Expect(p.Missed).To(BeNil())
			} else {
				g.Expect(p.Missed.First).To(BeTemporally("==", at(t, tt.first)))
			}
		})
	}
}

// TestATimeIsFollowedOnceWhateverTheTimeOfAnEdit has a rule that is followed or missed at nine, and edited after that by a clock that is behind.
func TestATimeIsFollowedOnceWhateverTheTimeOfAnEdit(t *testing.T) {
	t.Parallel()
	const nine, edited = "2026-03-28 09:00:00", "2026-03-28 08:59:59"
	done := func(scheduled string) []history {
		when := new(metav1.NewTime(at(t, scheduled)))
		out := waits(at(t, "2026-03-28 10:00:00"))
		out[0].SuccessfulExecutions = []autoscalingv1alpha1.SuccessfulExecution{{ScheduleTime: when, ExecutionTime: when}}
		return out
	}
	missed := waits(at(t, "2026-03-28 10:00:00"))
	missed[0].FailedExecutions = []autoscalingv1alpha1.FailedExecution{{ScheduleTime: new(metav1.NewTime(at(t, nine)))}}
	tests := map[string]struct {
		rule      rule
		histories []history
		due       string
	}{
		"the rule as it was":                                 {cron("0 * * * *"), done(nine), ""},
		"as it was, and missed":                              {cron("0 * * * *"), missed, ""},
		"one more time, which is to come":                    {cron("0,1 * * * *"), done(nine), ""},
		"it was followed an hour before":                     {cron("0 * * * *"), done("2026-03-28 08:00:00"), nine},
		"it was followed by a clock that has been put right": {cron("0 * * * *"), done("2026-03-28 11:00:00"), nine},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			p := schedule.Decide(schedule.Input{Rules: []rule{tt.rule}, Histories: tt.histories, Edited: at(t, edited), Now: at(t, "2026-03-28 09:00:10")})[0]
			g.Expect(p.Missed).To(BeNil())
			if tt.due == "" {
				g.Expect(p.Due).To(BeZero())
			} else {
				g.Expect(p.Due).To(BeTemporally("==", at(t, tt.due)))
			}
		})
	}
}
