// Package retention decides when a backup is due and which ones go, from the names of files. It has no clock.
package retention

import (
	"slices"
	"strings"
	"time"
)

// Parts of the names of backups. The name is all that says whose a file is, and from when: files are copied about, and lose their times.
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

// Parse says which backup of the hub a file is, if it is one.
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

// PartialPattern returns the pattern of the names that a backup has until it is whole; the star stands for what makes it unique.
func PartialPattern(name string) string { return "." + name + ".*" + unwritten }

// IsPartial says whether a file is a backup of the hub that was not finished.
func IsPartial(hub, name string) bool {
	return strings.HasPrefix(name, "."+prefix+hub+"-") && strings.HasSuffix(name, unwritten)
}

// HubOf says of which hub a file is a backup, if it is one of any.
func HubOf(name string) (string, bool) {
	rest, _ := strings.CutPrefix(name, prefix)
	hub, _, _ := strings.Cut(rest, "-")
	_, ok := Parse(hub, name)
	return hub, ok && hub != ""
}

// Newest returns the newest of some backups; none if there is none. Those from the future were made when a clock was wrong: they are no reason to
// make none.
func Newest(files []File, now time.Time) (File, bool) {
	sorted := inOrder(now, files)
	if len(sorted) == 0 || sorted[len(sorted)-1].Taken.After(now) {
		return File{}, false
	}
	return sorted[len(sorted)-1], true
}

// FromFuture returns those of some backups that are from the future, in the order of their times: the clock that made them was ahead, or this one is behind.
func FromFuture(files []File, now time.Time) []File {
	return slices.DeleteFunc(inOrder(now, files), func(f File) bool { return !f.Taken.After(now) })
}

// inOrder returns backups in the order in which they were made. Those from the future come before all others: nobody knows when they were made, and
// what is made from now on is newer.
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

// Rules say which backups are kept.
type Rules struct {
	// Keep is how many; 0 is all.
	Keep int
	// MaxAge is how old one may become; 0 is any age.
	MaxAge time.Duration
}

// mostByAge is how many go at a time since they are too old: a clock that is years ahead for one backup makes all others so.
const mostByAge = 2

// Expired returns those that go, the oldest first. The newest never does.
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

// Times between two tries when backups fail.
const (
	firstRetry = time.Minute
	lastRetry  = time.Hour
)

// Input is by what it is decided when a backup is due.
type Input struct {
	Now time.Time
	// Newest is when the newest backup was made; zero if there is none.
	Newest time.Time
	// Every is how much time there is between two backups.
	Every time.Duration
	// Failures is how many tries have failed since, and Failed when the last of them did.
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
	if in.Failures <= 6 { // beyond that it would be more than the last
		pause = min(firstRetry<<(in.Failures-1), lastRetry)
	}
	if retry := in.Failed.Add(min(pause, in.Every)); retry.After(due) {
		return retry
	}
	return due
}
