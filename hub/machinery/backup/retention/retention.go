// Package retention decides, from the names of files, when a backup is due and which ones to delete. It is pure.
package retention

import (
	"slices"
	"strings"
	"time"
)

// The parts of the name of a backup. Only the name tells whose backup a file is, and from when: copies lose their
// modification times.
const (
	prefix    = "fairlead-"
	stamp     = "20060102T150405Z"
	suffix    = ".backup"
	sealed    = ".age"
	unwritten = ".partial"
)

// Name returns the name of a backup of a hub.
func Name(hub string, taken time.Time, isSealed bool) string {
	name := prefix + hub + "-" + taken.UTC().Format(stamp) + suffix
	if isSealed {
		name += sealed
	}
	return name
}

// File is a backup that a hub has named.
type File struct {
	Name  string
	Taken time.Time
}

// Parse parses the name of a backup of the hub; false if it is not one.
func Parse(hub, name string) (File, bool) {
	rest, ok := strings.CutPrefix(name, prefix+hub+"-")
	rest, isSealed := strings.CutSuffix(rest, sealed)
	rest, isBackup := strings.CutSuffix(rest, suffix)
	taken, err := time.Parse(stamp, rest)
	if !ok || !isBackup || err != nil || Name(hub, taken, isSealed) != name {
		return File{}, false
	}
	return File{Name: name, Taken: taken}, true
}

// PartialPattern returns the pattern of temporary names for an unfinished backup; the star is replaced to make them
// unique.
func PartialPattern(name string) string { return "." + name + ".*" + unwritten }

// IsPartial says whether a file is an unfinished backup of the hub.
func IsPartial(hub, name string) bool {
	return strings.HasPrefix(name, "."+prefix+hub+"-") && strings.HasSuffix(name, unwritten)
}

// HubOf returns the hub of a backup; false if the file is not a backup.
func HubOf(name string) (string, bool) {
	rest, _ := strings.CutPrefix(name, prefix)
	hub, _, _ := strings.Cut(rest, "-")
	_, ok := Parse(hub, name)
	return hub, ok && hub != ""
}

// Newest returns the newest backup; false if there is none. If the newest ones are from the future, a clock was wrong:
// they must not prevent new backups.
func Newest(files []File, now time.Time) (File, bool) {
	sorted := inOrder(now, files)
	if len(sorted) == 0 || sorted[len(sorted)-1].Taken.After(now) {
		return File{}, false
	}
	return sorted[len(sorted)-1], true
}

// FromFuture returns the backups from the future, by time: the clock that made them was ahead, or the present one is
// behind.
func FromFuture(files []File, now time.Time) []File {
	return slices.DeleteFunc(inOrder(now, files), func(f File) bool { return !f.Taken.After(now) })
}

// inOrder sorts backups by age. Those from the future come first: their real age is unknown, and everything from now on
// is newer.
func inOrder(now time.Time, files []File) []File {
	out := slices.Clone(files)
	slices.SortFunc(out, func(a, b File) int {
		switch aAhead, bAhead := a.Taken.After(now), b.Taken.After(now); {
		case aAhead && !bAhead:
			return -1
		case bAhead && !aAhead:
			return 1
		}
		if c := a.Taken.Compare(b.Taken); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out
}

// Rules decide which backups are kept.
type Rules struct {
	// Keep is how many; 0 means all.
	Keep int
	// MaxAge is the maximum age; 0 means any.
	MaxAge time.Duration
}

// mostByAge is how many are deleted at a time because of their age: a clock that is years ahead for one backup would
// expire all others.
const mostByAge = 2

// Expired returns the backups to delete, the oldest first. It never includes the newest.
func (r Rules) Expired(files []File, now time.Time) []File {
	sorted := inOrder(now, files)
	var out []File
	tooOld := 0
	for i, f := range sorted {
		newer := len(sorted) - 1 - i
		switch {
		case newer == 0:
		case r.Keep > 0 && newer >= r.Keep:
			out = append(out, f)
		case r.MaxAge > 0 && now.Sub(f.Taken) > r.MaxAge && tooOld < mostByAge:
			tooOld++
			out = append(out, f)
		}
	}
	return out
}

// The delays between attempts after failures.
const (
	firstRetry = time.Minute
	lastRetry  = time.Hour
)

// Input decides when a backup is due.
type Input struct {
	Now time.Time
	// Newest is when the newest backup was made; zero if there is none.
	Newest time.Time
	// Every is the interval of backups.
	Every time.Duration
	// Failures is how many attempts have failed since, and Failed when the last one did.
	Failures int
	Failed   time.Time
}

// Due returns when the next backup is due.
func Due(in Input) time.Time {
	due := in.Now
	if !in.Newest.IsZero() {
		due = in.Newest.Add(in.Every)
	}
	if in.Failures == 0 {
		return due
	}
	pause := lastRetry
	if in.Failures <= 6 { // more would exceed lastRetry
		pause = min(firstRetry<<(in.Failures-1), lastRetry)
	}
	if retry := in.Failed.Add(min(pause, in.Every)); retry.After(due) {
		return retry
	}
	return due
}
