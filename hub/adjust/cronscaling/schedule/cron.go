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

// next returns the first time after another one at which a rule is due. The error names the field of
// the rule and what is wrong with it.
func next(rule *autoscalingv1alpha1.CronFederatedHPARule, after time.Time) (time.Time, error) {
	zone, err := zoneOf(rule, after)
	if err != nil {
		return time.Time{}, fmt.Errorf("timeZone %q: %w", *rule.TimeZone, err)
	}
	if err := check(rule.Schedule); err != nil {
		return time.Time{}, fmt.Errorf("schedule %q: %w", rule.Schedule, err)
	}
	at, err := gronx.NextTickAfter(rule.Schedule, after.In(zone), false)
	if err != nil {
		return time.Time{}, fmt.Errorf("schedule %q: %w", rule.Schedule, errNever)
	}
	return at, nil
}

// isDueAt says whether a rule, as it is now, is due at a time.
func isDueAt(rule *autoscalingv1alpha1.CronFederatedHPARule, at time.Time) bool {
	first, err := next(rule, at.Add(-time.Second))
	return err == nil && first.Equal(at)
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
		return errors.New("a field of it is none of cron: minute 0-59, hour 0-23, day of the month 1-31, month 1-12, day of the week 0-7, " +
			"each as *, a number, a range such as 1-5, a step such as */5, or a list of these")
	}
	return nil
}
