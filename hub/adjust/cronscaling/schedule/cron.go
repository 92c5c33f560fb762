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

// errNever says that no calendar has the time that a schedule names.
var errNever = errors.New("it names a time that never comes")

// times are the times of a rule, in its time zone.
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

// next returns the first time of the rule after the given one.
func (t times) next(after time.Time) (time.Time, error) {
	at, err := tick(t.table, after.In(t.zone))
	if err != nil {
		return time.Time{}, fmt.Errorf("schedule %q: %w", t.schedule, err)
	}
	return at, nil
}

// has says whether a time is one of the rule's.
func (t times) has(at time.Time) bool {
	first, err := t.next(at.Add(-time.Second))
	return err == nil && first.Equal(at)
}

const (
	// mostShift is more than any two offsets of a time zone differ.
	mostShift = 26 * time.Hour
	// mostChanges is how many changes of a zone's offset are searched before a time counts as never coming: one that is
	// skipped every year.
	mostChanges = 16
)

// tick returns the first time after another one that a schedule names, in the zone of that time. It searches from one
// change of the zone's offset to the next, since clocks run evenly in between. A time that a change skips is in none of
// these intervals; one that a change repeats is found before it.
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
				after = near.In(zone) // no time is due before that, by any offset
			}
		case isRepeated:
			after = begin.Add(setBack(begin) - time.Second).In(zone)
		default:
			return at.In(zone), nil
		}
	}
	return time.Time{}, errNever // every candidate is skipped by a change of the offset
}

// setBack returns by how much clocks are set back at a change; negative means forward.
func setBack(change time.Time) time.Duration {
	_, before := change.Add(-time.Second).Zone()
	_, since := change.Zone()
	return time.Duration(before-since) * time.Second
}

// zoneOf returns the time zone of a rule, or that of now if the rule names none.
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

// check returns what is wrong with a schedule. The library also accepts fields for seconds and years; the API has five
// fields.
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
