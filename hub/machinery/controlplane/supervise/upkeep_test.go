package supervise

import (
	"bytes"
	"errors"
	"os"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"fairlead.dev/hub/machinery/controlplane/database"
	"fairlead.dev/hub/machinery/controlplane/pki"
)

func TestWhenOnlyAStartHelps(t *testing.T) {
	t.Parallel()
	began := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, tc := range map[string]struct {
		at   time.Time
		want bool
	}{
		"just started":                  {began, false},
		"a year later":                  {began.AddDate(1, 0, 0), false},
		"a clock that was put right":    {began.Add(-10 * time.Minute), false},
		"a clock that was a day ahead":  {began.AddDate(0, 0, -1), true},
		"two years later and some days": {began.AddDate(2, 0, 9), true},
	} {
		if err := checkRuntime(began, tc.at); (err != nil) != tc.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRoomIsNotMadeTwiceOfTheSame(t *testing.T) {
	t.Parallel()
	full := database.Space{Size: 95, InUse: 92, Quota: 100}
	m := spaceReclaimer{}
	if m.hasTried(full) {
		t.Error("it was not tried yet")
	}
	m.inUseAfterReclaim = 92
	if !m.hasTried(full) {
		t.Error("nothing more would come of it")
	}
	full.InUse = 98
	if m.hasTried(full) {
		t.Error("there is more by now")
	}
}

func TestAFailedWriteIsTriedAgain(t *testing.T) {
	t.Parallel()
	clk := clocktesting.NewFakeClock(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC))
	bundle, err := pki.Ensure(t.TempDir(), pki.Leaves{Hosts: []string{"localhost"}}, clk.Now())
	if err != nil {
		t.Fatal(err)
	}
	full, written := errors.New("no space left on the disk"), 0
	failing := full
	u := &upkeep{clock: clk, certificates: bundle, report: func(string, ...any) {}, renewed: func() error {
		if failing == nil {
			written++
		}
		return failing
	}}
	if err := u.renew(); err != nil {
		t.Fatalf("before it is due: %v", err)
	}
	clk.Step(pki.DefaultValidity - time.Hour)
	var serving []byte
	for range 2 {
		if err := u.renew(); !errors.Is(err, full) {
			t.Fatalf("got %v", err)
		}
		now, err := os.ReadFile(bundle.ServingCertFile())
		if err != nil || serving != nil && !bytes.Equal(now, serving) {
			t.Fatalf("other certificates end connections, and were not what failed: %v", err)
		}
		serving = now
	}
	failing = nil
	for range 2 {
		if err := u.renew(); err != nil {
			t.Fatal(err)
		}
	}
	if written != 1 {
		t.Errorf("written %d times", written)
	}
}
