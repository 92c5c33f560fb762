package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // time zones where the machine has none, as in the hub's image

	"github.com/adhocore/gronx"

	autoscalingv1alpha1 "fairlead.dev/common/api/autoscaling/v1alpha1"
)

// errNever says that a schedule names a time that no calendar has.
var errNever = errors.New("it names a time that never comes")

// times are the times of a rule.
type times struct {
	schedule string
	table    *timetable
	zone     *time.Location
}

// timesOf returns the times of a rule. The error names the field of the rule and what is wrong with it.
func timesOf(tables *Timetables, rule *autoscalingv1alpha1.CronFederatedHPARule, now time.Time) (times, error) {
	zone, err := zoneOf(rule, now)
	if err != nil {
		return times{}, fmt.Errorf("timeZone %q: %w", *rule.TimeZone, err)
	}
	table, err := tables.of(rule.Schedule)
	if err != nil {
		return times{}, fmt.Errorf("schedule %q: %w", rule.Schedule, err)
	}
	return times{schedule: rule.Schedule, table: table, zone: zone}, nil
}

// next returns the first of them after another time.
func (t times) next(after time.Time) (time.Time, error) {
	at, err := tick(t.table, after.In(t.zone))
	if err != nil {
		return time.Time{}, fmt.Errorf("schedule %q: %w", t.schedule, err)
	}
	return at, nil
}

// has says whether a time is one of them.
func (t times) has(at time.Time) bool {
	first, err := t.next(at.Add(-time.Second))
	return err == nil && first.Equal(at)
}

const (
	// mostShift is more than any two clocks of a zone are apart.
	mostShift = 26 * time.Hour
	// mostChanges is at how many changes of clocks a time is looked for: one that they leave out each year never comes.
	mostChanges = 16
)

// tick returns the first time after another one that a schedule names, by the clocks of that one's zone. It looks from one change of clocks
// to the next, between which clocks go like any others. What a change leaves out is in none of these; what it repeats is found before it.
func tick(table *timetable, after time.Time) (time.Time, error) {
	zone := after.Location()
	for range mostChanges {
		begin, end := after.Add(time.Second).ZoneBounds()
		name, offset := after.Add(time.Second).Zone()
		at, ok := table.after(after.In(time.FixedZone(name, offset)))
		if !ok {
			return time.Time{}, errNever
		}
		isRepeated := !begin.IsZero() && at.Sub(begin) < setBack(begin)
		switch {
		case !end.IsZero() && !at.Before(end):
			after = end.Add(-time.Second)
			if near := at.Add(-mostShift); near.After(after) {
				after = near.In(zone) // none is before that, by whichever clocks
			}
		case isRepeated:
			after = begin.Add(setBack(begin) - time.Second).In(zone)
		default:
			return at.In(zone), nil
		}
	}
	return time.Time{}, errNever // each that there would be is left out by a change of clocks
}

// setBack returns by how much clocks are set back at a time; less than 0 is forwards.
func setBack(change time.Time) time.Duration {
	_, before := change.Add(-time.Second).Zone()
	_, since := change.Zone()
	return time.Duration(before-since) * time.Second
}

// zoneOf returns the time zone of a rule: that of a time where the rule has none.
func zoneOf(rule *autoscalingv1alpha1.CronFederatedHPARule, now time.Time) (*time.Location, error) {
	if rule.TimeZone == nil || *rule.TimeZone == "" {
		return now.Location(), nil
	}
	zone, err := time.LoadLocation(*rule.TimeZone)
	if err != nil || zone == time.Local {
		return nil, errors.New("there is no such time zone; name one as in Europe/Berlin or UTC")
	}
	return zone, nil
}

// check says what is wrong with a schedule. The library takes fields for seconds and years too; those
// of the API are five.
func check(cron string) error {
	if word := strings.TrimSpace(cron); strings.HasPrefix(word, "@") {
		if strings.EqualFold(word, "@everysecond") || !gronx.IsValid(word) {
			return errors.New("there is no such word; use five fields, or @hourly, @daily, @weekly, @monthly, @yearly")
		}
		return nil
	}
	if n := len(strings.Fields(cron)); n != 5 {
		return fmt.Errorf("it has %d fields instead of five: minute, hour, day of the month, the month, day of the week", n)
	}
	if !gronx.IsValid(cron) {
		return errUnreadable
	}
	return nil
}
