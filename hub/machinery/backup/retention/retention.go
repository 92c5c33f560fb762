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

// Partial returns the pattern of the names that a backup has until it is whole; the star stands for what makes it unique.
func Partial(name string) string { return "." + name + ".*" + unwritten }

// IsPartial says whether a file is a backup of the hub that was not finished.
func IsPartial(hub, name string) bool {
	return strings.HasPrefix(name, "."+prefix+hub+"-") && strings.HasSuffix(name, unwritten)
}

// Newest returns the newest of some backups; none if there is none.
func Newest(files []File, now time.Time) (File, bool) {
	sorted := upTo(now, files)
	if len(sorted) == 0 {
		return File{}, false
	}
	return sorted[len(sorted)-1], true
}

// upTo returns backups in the order in which they were made. Those from the future were made when a clock was wrong: they are neither a reason
// to make none, nor to delete others.
func upTo(now time.Time, files []File) []File {
	out := slices.DeleteFunc(slices.Clone(files), func(f File) bool { return f.Taken.After(now) })
	slices.SortFunc(out, compare)
	return out
}

func compare(a, b File) int {
	if c := a.Taken.Compare(b.Taken); c != 0 {
		return c
	}
	return strings.Compare(a.Name, b.Name)
}

// Rules say which backups are kept.
type Rules struct {
	// Keep is how many; 0 is all.
	Keep int
	// MaxAge is how old one may become; 0 is any age.
	MaxAge time.Duration
}

// Expired returns those that go, the oldest first. The newest never does.
func (r Rules) Expired(files []File, now time.Time) []File {
	sorted := upTo(now, files)
	var out []File
	for i, f := range sorted {
		newer := len(sorted) - 1 - i
		if newer > 0 && (r.Keep > 0 && newer >= r.Keep || r.MaxAge > 0 && now.Sub(f.Taken) > r.MaxAge) {
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
