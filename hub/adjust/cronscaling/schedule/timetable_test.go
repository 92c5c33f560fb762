package schedule

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/adhocore/gronx"
	. "github.com/onsi/gomega"

	autoscalingv1alpha1 "fairlead.dev/common/api/autoscaling/v1alpha1"
)

// TestATimetableSaysWhatTheLibrarySays compares the two on random schedules: as long as the library finds a time, both
// find the same.
func TestATimetableSaysWhatTheLibrarySays(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	random := rand.New(rand.NewPCG(5, 8))
	pick := func(words ...string) string { return words[random.IntN(len(words))] }
	field := func(from, to int, more ...string) string {
		var entries []string
		for range 1 + random.IntN(3) {
			a := from + random.IntN(to-from+1)
			b := a + random.IntN(to-a+1)
			entries = append(entries, pick(append(more, fmt.Sprint(a), fmt.Sprintf("%d-%d", a, b), fmt.Sprintf("*/%d", 1+random.IntN(9)), fmt.Sprintf("%d-%d/%d", a, b, 1+random.IntN(9)))...))
		}
		return strings.Join(entries, ",")
	}
	compared := 0
	for range 500 {
		cron := strings.Join([]string{
			pick("*", "0", field(0, 59)), pick("*", "12", field(0, 23)),
			pick("*", "?", "L", "1", field(1, 31, "L", "1W", "15W", "31W", "030W")), pick("*", "2", "feb", field(1, 12, "jan", "DEC")),
			pick("*", "?", "5L", "1#1", "7#5", field(0, 7, "0L", "7L", "3#2", "sun")),
		}, " ")
		from := time.Date(2020+random.IntN(20), time.Month(1+random.IntN(12)), 1+random.IntN(28), random.IntN(24), random.IntN(60), random.IntN(3)*20, 0, time.UTC)
		want, err := gronx.NextTickAfter(cron, from, false)
		if err != nil {
			continue
		}
		table := newTimetable(cron)
		g.Expect(table.err).NotTo(HaveOccurred(), cron)
		got, ok := table.after(from)
		g.Expect(ok).To(BeTrue(), cron)
		g.Expect(got).To(BeTemporally("==", want), "%s after %s", cron, from)
		compared++
	}
	g.Expect(compared).To(BeNumerically(">", 300))
}

// hostile returns a schedule of the maximum length that never comes due; each day of each month is checked against
// every one of its entries.
func hostile(i int) string {
	lists := []string{"30W,31W,30W,31W,", "030W,0030W,30W,", "30,31,30W,"}
	list := strings.Repeat(lists[i%len(lists)], 64)[:220]
	return fmt.Sprintf("%d %d %s 2 ?", i/24%60, i%24, list[:strings.LastIndex(list, ",")])
}

// TestSchedulesThatNeverComeHoldNothingUp decides repeatedly on more rules than an object may have, all different. The
// library alone searches for a tenth of a second or more each time.
func TestSchedulesThatNeverComeHoldNothingUp(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := Input{Now: time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC), Tables: &Timetables{}}
	for i := range 200 {
		in.Rules = append(in.Rules, autoscalingv1alpha1.CronFederatedHPARule{Name: fmt.Sprint(i), Schedule: hostile(i)})
	}
	begin := time.Now()
	for range 10 {
		for _, p := range Decide(in) {
			if !errors.Is(p.Problem, errNever) {
				t.Fatalf("%q: %v", p.Rule.Schedule, p.Problem)
			}
		}
	}
	g.Expect(time.Since(begin)).To(BeNumerically("<", 20*time.Second), "the library takes minutes")
}

func TestTimetablesAreForgottenBeforeTheyAreTooMany(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var tables Timetables
	tables.bySchedule = map[string]*timetable{}
	for i := range mostTimetables {
		tables.bySchedule[fmt.Sprint(i)] = &timetable{}
	}
	for range 2 {
		_, err := tables.of("0 8 * * *")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(tables.bySchedule).To(HaveLen(1))
	}
}

// A field with one invalid entry is invalid, on every day.
func TestEachEntryOfAListIsLookedAt(t *testing.T) {
	t.Parallel()
	for _, cron := range []string{"0,60 * * * *", "* 0,5-1 * * *", "* * 1,32 * *", "* * -5W * *", "* * 32W * *", "* * W * *", "* * * * 8L", "* * * * L", "* * * * 1#6", "* * * * -1#2", "* * * * 3W"} {
		NewWithT(t).Expect(newTimetable(cron).err).To(MatchError(errUnreadable), cron)
	}
}

// BenchmarkNext measures what one rule costs each time it is looked at.
func BenchmarkNext(b *testing.B) {
	from := time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)
	for name, cron := range map[string]string{"daily": "0 8 * * 1-5", "never": hostile(0)} {
		b.Run(name+"/library", func(b *testing.B) {
			for b.Loop() {
				_, _ = gronx.NextTickAfter(cron, from, false)
			}
		})
		b.Run(name+"/first", func(b *testing.B) {
			for b.Loop() {
				newTimetable(cron).after(from)
			}
		})
		b.Run(name, func(b *testing.B) {
			table := newTimetable(cron)
			for b.Loop() {
				table.after(from)
			}
		})
	}
}
