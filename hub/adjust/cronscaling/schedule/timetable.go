package schedule

import (
	"errors"
	"math/bits"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/adhocore/gronx"
)

// mostTimetables bounds the cache: more than there are different schedules in practice, at a few megabytes.
const mostTimetables = 10_000

// Timetables caches parsed schedules. Each rule is evaluated every few seconds, and its author decides how long its
// lists are. It is safe for concurrent use, and its zero value is ready to use.
type Timetables struct {
	mu         sync.Mutex
	bySchedule map[string]*timetable
}

// of returns the timetable of a schedule. The error says what is wrong with the schedule.
func (t *Timetables) of(cron string) (*timetable, error) {
	t.mu.Lock()
	known := t.bySchedule[cron]
	t.mu.Unlock()
	if known == nil {
		known = newTimetable(cron)
		t.mu.Lock()
		if t.bySchedule == nil || len(t.bySchedule) >= mostTimetables {
			t.bySchedule = map[string]*timetable{}
		}
		t.bySchedule[cron] = known
		t.mu.Unlock()
	}
	return known, known.err
}

// timetable is a parsed schedule: a bit for each minute, hour, day and month that it names.
type timetable struct {
	minutes uint64
	hours   uint64
	months  uint64
	// days are the days of the month that are given as numbers; nearest are those whose nearest working day is meant;
	// last means the last day of the month.
	days, nearest uint64
	last          bool
	// weekdays starts with Sunday. ofMonth has seven bits for each week of a month, then seven for the last such
	// weekday of the month.
	weekdays, ofMonth uint64
	// anyDay says that the schedule names no days of the month, anyWeekday that it names no days of the week. If it
	// names both, a day must match one of them, or both if together is set.
	anyDay, anyWeekday, together bool
	// err says what is wrong with the schedule.
	err error
}

// The fields of a schedule, in the library's numbering.
const (
	fieldMinute = iota + 1
	fieldHour
	fieldDay
	fieldMonth
	fieldWeekday
)

// lastOfMonth is the first of the bits for last weekdays in ofMonth, after five weeks.
const lastOfMonth = 5 * 7

var errUnreadable = errors.New("one of its fields is not valid: minute 0-59, hour 0-23, day of the month 1-31, month 1-12, day of the week 0-7, " +
	"each as *, a number, a range such as 1-5, a step such as */5, or a list of these")

// newTimetable parses a schedule. The library decides what is due, but is asked only once for each value of each field.
// Its own search for the next time would ask again for each day and each entry of a list, and would take minutes if
// there is no such time.
func newTimetable(cron string) *timetable {
	if err := check(cron); err != nil {
		return &timetable{err: err}
	}
	fields, err := gronx.Segments(cron)
	if err != nil || len(fields) != fieldWeekday+1 {
		return &timetable{err: errUnreadable}
	}
	day, weekday := fields[fieldDay], fields[fieldWeekday]
	t := &timetable{
		anyDay: day == "*" || day == "?", anyWeekday: weekday == "*" || weekday == "?",
		together: strings.HasPrefix(weekday, "*/") || strings.HasPrefix(day, "*") || day == "?",
	}
	// Each of these times contains one value of a field.
	t.minutes, t.err = t.named(fields, fieldMinute, 0, 59, func(v int) time.Time { return time.Date(2023, 1, 1, 0, v, 0, 0, time.UTC) })
	t.hours, err = t.named(fields, fieldHour, 0, 23, func(v int) time.Time { return time.Date(2023, 1, 1, v, 0, 0, 0, time.UTC) })
	t.err = errors.Join(t.err, err)
	t.days, err = t.named(fields, fieldDay, 1, 31, func(v int) time.Time { return time.Date(2023, 1, v, 0, 0, 0, 0, time.UTC) })
	t.err = errors.Join(t.err, err)
	t.months, err = t.named(fields, fieldMonth, 1, 12, func(v int) time.Time { return time.Date(2023, time.Month(v), 1, 0, 0, 0, 0, time.UTC) })
	t.err = errors.Join(t.err, err)
	t.weekdays, err = t.named(fields, fieldWeekday, 0, 6, func(v int) time.Time { return time.Date(2023, 1, 1+v, 0, 0, 0, 0, time.UTC) })
	switch t.err = errors.Join(t.err, err); {
	case t.err != nil:
		t.err = errUnreadable
	case t.isEmpty():
		t.err = errNever
	}
	return t
}

// named returns the values of a field that the schedule names; at gives a time that contains a value. Days that depend
// on the month are recorded separately.
func (t *timetable) named(fields []string, field, from, to int, at func(v int) time.Time) (uint64, error) {
	var out uint64
	library := &gronx.SegmentChecker{}
	for entry := range strings.SplitSeq(fields[field], ",") {
		if (field == fieldDay || field == fieldWeekday) && strings.ContainsAny(entry, "LW#") {
			if !t.note(field, entry) {
				return 0, errUnreadable
			}
			continue
		}
		for v := from; v <= to; v++ {
			library.SetRef(at(v))
			due, err := library.CheckDue(entry, field)
			if err != nil {
				return 0, errUnreadable
			}
			if due {
				out |= 1 << v
			}
		}
	}
	return out, nil
}

// note records a day that depends on the month, and says whether the entry is one: the last day (L), the working day
// nearest to a day (15W), the last Friday (5L), the second Friday (5#2).
func (t *timetable) note(field int, entry string) bool {
	day, week, nth := strings.Cut(entry, "#")
	switch {
	case field == fieldDay && entry == "L":
		t.last = true
	case field == fieldDay:
		day, _, _ = strings.Cut(entry, "W")
		n, ok := number(day, 1, 31)
		if !ok {
			return false
		}
		t.nearest |= 1 << n
	case nth:
		n, ok := number(day, 0, 7)
		k, ok2 := number(week, 1, 5)
		if !ok || !ok2 {
			return false
		}
		t.ofMonth |= 1 << ((k-1)*7 + n%7)
	default:
		day, _, last := strings.Cut(entry, "L")
		n, ok := number(day, 0, 7)
		if !ok || !last {
			return false
		}
		t.ofMonth |= 1 << (lastOfMonth + n%7)
	}
	return true
}

// number parses a number, and says whether it is within bounds.
func number(text string, from, to int) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= from && n <= to
}

// isEmpty says whether no calendar has a time that the schedule names.
func (t *timetable) isEmpty() bool {
	for month := time.January; month <= time.December; month++ {
		for first := time.Sunday; first <= time.Saturday; first++ {
			for _, year := range []int{2023, 2024} { // one of them is a leap year
				if has(t.months, int(month)) && t.daysOf(first, daysIn(year, month)) != 0 {
					return t.hours == 0 || t.minutes == 0
				}
			}
		}
	}
	return true
}

func has(set uint64, v int) bool { return set&(1<<v) != 0 }

func daysIn(year int, month time.Month) int {
	return time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// daysOf returns the days that the schedule names in a month of that length that starts on that weekday.
func (t *timetable) daysOf(first time.Weekday, length int) uint64 {
	days, byWeekday := t.days, uint64(0)
	if t.last {
		days |= 1 << length
	}
	for day := 1; day <= length; day++ {
		weekday := (int(first) + day - 1) % 7
		if has(t.nearest, day) {
			days |= 1 << workingDay(int(first), length, day)
		}
		if has(t.weekdays, weekday) || has(t.ofMonth, (day-1)/7*7+weekday) || day+7 > length && has(t.ofMonth, lastOfMonth+weekday) {
			byWeekday |= 1 << day
		}
	}
	whole := uint64(1)<<(length+1) - 2
	switch {
	case t.anyDay && t.anyWeekday:
		return whole
	case t.anyWeekday:
		return days & whole
	case t.anyDay:
		return byWeekday
	case t.together:
		return days & byWeekday
	default:
		return days&whole | byWeekday
	}
}

// workingDay returns the working day of a month that is nearest to a day.
func workingDay(first, length, day int) int {
	for _, away := range []int{0, -1, 1, -2, 2} {
		near := day + away
		if weekday := (first + near + 6) % 7; near >= 1 && near <= length && weekday >= 1 && weekday <= 5 {
			return near
		}
	}
	return day // unreachable: of five days in a row one is a working day
}

// longestGap is the longest time between two due times, in months: a 29 February that is a Sunday, across a year that
// is divisible by 100 and not a leap year.
const longestGap = 41 * 12

// after returns the first time after another one, in the same time zone and without changes of its offset; false if
// there is none.
func (t *timetable) after(last time.Time) (time.Time, bool) {
	from := time.Date(last.Year(), last.Month(), last.Day(), last.Hour(), last.Minute()+1, 0, 0, last.Location())
	year, month, day := from.Date()
	hour, minute := from.Hour(), from.Minute()
	for range longestGap {
		var days uint64
		if has(t.months, int(month)) {
			days = t.daysOf(time.Date(year, month, 1, 0, 0, 0, 0, time.UTC).Weekday(), daysIn(year, month)) >> day << day
		}
		for ; days != 0; days &= days - 1 {
			at := bits.TrailingZeros64(days)
			if at > day {
				hour, minute = 0, 0
			}
			if h, m, ok := t.onOneDay(hour, minute); ok {
				return time.Date(year, month, at, h, m, 0, 0, last.Location()), true
			}
		}
		if month++; month > time.December {
			year, month = year+1, time.January
		}
		day, hour, minute = 1, 0, 0
	}
	return time.Time{}, false
}

// onOneDay returns the first time of a day that is not before the given one.
func (t *timetable) onOneDay(hour, minute int) (h, m int, ok bool) {
	for h = hour; h < 24; h++ {
		if left := t.minutes >> minute << minute; has(t.hours, h) && left != 0 {
			return h, bits.TrailingZeros64(left), true
		}
		minute = 0
	}
	return 0, 0, false
}
