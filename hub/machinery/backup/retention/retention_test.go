package retention

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func at(hours float64) time.Time {
	return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC).Add(time.Duration(hours * float64(time.Hour)))
}

func TestOnlyWhatTheHubNamedIsABackupOfIt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, isSealed := range []bool{true, false} {
		taken := time.Date(2026, 11, 22, 23, 4, 5, 999, time.FixedZone("elsewhere", 3600))
		f, ok := Parse("1a2b3c4d", Name("1a2b3c4d", taken, isSealed))
		g.Expect(ok).To(BeTrue())
		g.Expect(f.Taken).To(Equal(time.Date(2026, 11, 22, 22, 4, 5, 0, time.UTC)))
	}
	for _, name := range []string{
		"fairlead-99999999-20261122T220405Z.backup.age", // of another hub
		"fairlead-1a2b3c4d-20261122T220405Z.backup.age.bak",
		"fairlead-1a2b3c4d-20261122T220405Z.age",
		"fairlead-1a2b3c4d-20261122T220405Z",
		"fairlead-1a2b3c4d-2026112T220405Z.backup",
		"fairlead-1a2b3c4d-20261122T220405.5Z.backup",
		"my-fairlead-1a2b3c4d-20261122T220405Z.backup",
		"fairlead-1a2b3c4d-yesterday.backup",
		".fairlead-1a2b3c4d-20261122T220405Z.backup.age.123.partial",
		"", "notes.txt",
	} {
		_, ok := Parse("1a2b3c4d", name)
		g.Expect(ok).To(BeFalse(), name)
	}
	g.Expect(IsPartial("1a2b3c4d", ".fairlead-1a2b3c4d-20261122T220405Z.backup.age.123.partial")).To(BeTrue())
	g.Expect(IsPartial("99999999", ".fairlead-1a2b3c4d-20261122T220405Z.backup.age.123.partial")).To(BeFalse())
	g.Expect(IsPartial("1a2b3c4d", "fairlead-1a2b3c4d-20261122T220405Z.backup.age")).To(BeFalse())
}

func TestWhichBackupsGo(t *testing.T) {
	t.Parallel()
	of := func(hours ...float64) (out []File) {
		for _, h := range hours {
			out = append(out, File{Name: Name("a", at(h), true), Taken: at(h)})
		}
		return out
	}
	for name, tc := range map[string]struct {
		rules Rules
		files []File
		want  []File
	}{
		"none of none":                                {Rules{Keep: 1}, nil, nil},
		"none, if all are kept":                       {Rules{}, of(-9, -99, -999), nil},
		"those beyond the number, the oldest first":   {Rules{Keep: 2}, of(-1, -4, -2, -3), of(-4, -3)},
		"none, if there are as many as are kept":      {Rules{Keep: 3}, of(-1, -4, -2), nil},
		"those that are too old":                      {Rules{MaxAge: 3 * time.Hour}, of(-1, -3, -3.1, -9), of(-9, -3.1)},
		"never the newest, however old it is":         {Rules{Keep: 1, MaxAge: time.Minute}, of(-999, -9999), of(-9999)},
		"what is too old, though fewer would be left": {Rules{Keep: 5, MaxAge: time.Hour}, of(0, -2), of(-2)},
		"two at a time of those that are too old":     {Rules{MaxAge: time.Hour}, of(0, -2, -3, -4, -5), of(-5, -4)},
		"not the newest for one from the future":      {Rules{Keep: 1, MaxAge: time.Hour}, of(48, 0, -1), of(48, -1)},
		"those from the future before others":         {Rules{Keep: 3}, of(48, 49, 0, -1, -2), of(48, 49)},
		"not all from the future":                     {Rules{Keep: 1}, of(48, 49), of(48)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(tc.rules.Expired(tc.files, at(0))).To(Equal(tc.want))
		})
	}
}

func TestTheNewestBackupIsNotFromTheFuture(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	files := []File{{Taken: at(-2)}, {Taken: at(-1)}, {Taken: at(48)}}
	newest, ok := Newest(files, at(0))
	g.Expect(ok).To(BeTrue())
	g.Expect(newest.Taken).To(Equal(at(-1)))
	_, ok = Newest(files[2:], at(0))
	g.Expect(ok).To(BeFalse())
}

func TestAClockThatWasAheadOnceLeavesTheHistory(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const day, years = 24, 5 * 365 * 24
	rules := Rules{Keep: 7, MaxAge: 30 * day * time.Hour}
	var files []File
	take := func(hours float64) {
		files = append(files, File{Name: Name("a", at(hours), true), Taken: at(hours)})
		expired := rules.Expired(files, at(hours))
		files = slices.DeleteFunc(files, func(f File) bool { return slices.Contains(expired, f) })
	}
	for n := range 10 {
		take(float64(n) * day)
	}
	g.Expect(files).To(HaveLen(7))
	take(years)
	g.Expect(len(files)).To(BeNumerically(">=", 5), "the history is not too old by one look at the clock")

	for n := range 7 {
		now := float64(10+n) * day
		take(now)
		newest, ok := Newest(files, at(now))
		g.Expect(ok).To(BeTrue())
		g.Expect(newest.Taken).To(Equal(at(now)))
	}
	g.Expect(files).To(HaveLen(7))
	for _, f := range files {
		g.Expect(f.Taken).To(BeTemporally("<", at(years)), "the one of that clock is gone before any that is newer")
	}
}

func TestHubOfABackup(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub, ok := HubOf(Name("1a2b3c4d", at(0), true))
	g.Expect(ok).To(BeTrue())
	g.Expect(hub).To(Equal("1a2b3c4d"))
	for _, name := range []string{"", "notes.txt", "fairlead-", "fairlead-hub.backup", "fairlead--20261122T220405Z.backup"} {
		_, ok := HubOf(name)
		g.Expect(ok).To(BeFalse(), name)
	}
}

func TestWhenABackupIsDue(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for name, tc := range map[string]struct {
		in   Input
		want time.Time
	}{
		"at once, if there is none":                             {Input{Every: day}, at(0)},
		"so long after the last":                                {Input{Every: day, Newest: at(-1)}, at(23)},
		"overdue, if the hub was away":                          {Input{Every: day, Newest: at(-25)}, at(-1)},
		"a minute after the first failure":                      {Input{Every: day, Failures: 1, Failed: at(0)}, at(1. / 60)},
		"four after the third":                                  {Input{Every: day, Failures: 3, Failed: at(0)}, at(4. / 60)},
		"an hour after the hundredth":                           {Input{Every: day, Failures: 100, Failed: at(0)}, at(1)},
		"with short times never later than without the failure": {Input{Every: 10 * time.Second, Failures: 7, Failed: at(0)}, at(1. / 360)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.in.Now = at(0)
			NewWithT(t).Expect(Due(tc.in)).To(BeTemporally("~", tc.want, time.Millisecond))
		})
	}
}
