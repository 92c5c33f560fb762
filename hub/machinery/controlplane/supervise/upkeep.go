package supervise

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"fairlead.dev/hub/machinery/controlplane/pki"
)

const (
	// upkeepInterval is how often it is looked whether the database has room. A hub that is written to as fast as it can be takes minutes to
	// fill what is left when it is short of room.
	upkeepInterval = time.Minute
	// mostBack is how far the clock may be put back. The certificate by which kube-apiserver reaches itself is good from an hour before its
	// start on, and longest is less than it lasts: three years.
	mostBack = 50 * time.Minute
	longest  = 2 * 365 * 24 * time.Hour
)

// upkeep is what a control plane does now and then for itself as long as it runs.
type upkeep struct {
	clock  clock.Clock
	began  time.Time
	every  time.Duration
	report Report
	room   *room
	// certificates are issued anew when that is due, and renewed writes what is made of them.
	certificates *pki.Bundle
	renewed      func() error
	// unwritten says that this has failed.
	unwritten bool
	// failed are the last errors, by what failed.
	failed map[string]string
	// ended tells why the control plane must be started anew.
	ended chan error
	done  sync.WaitGroup
}

// start looks again and again until the context ends.
func (u *upkeep) start(ctx context.Context) {
	u.done.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-u.clock.After(u.every):
			}
			if err := tooOld(u.began, u.clock.Now()); err != nil {
				u.ended <- err
				return
			}
			u.look(ctx, false)
		}
	})
}

// tooOld says why no certificate that is renewed keeps a control plane going, by the clock that people see.
func tooOld(began, now time.Time) error {
	switch {
	case now.Before(began.Add(-mostBack)):
		return fmt.Errorf("the clock of this machine was at %s when this hub started, and is at %s now: the certificates in its memory are not good yet, so it ends, and has to be started again",
			began.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	case now.After(began.Add(longest)):
		return fmt.Errorf("this hub has run since %s, and the certificates in its memory end: it ends, and has to be started again", began.UTC().Format(time.RFC3339))
	default:
		return nil
	}
}

// look does all of it once. What fails is told once, and tried again the next time.
func (u *upkeep) look(ctx context.Context, starting bool) {
	u.note(ctx, "looking whether the database has room", u.room.keep(ctx, starting))
	u.note(ctx, "issuing certificates anew", u.renew())
}

// renew issues certificates anew if that is due. Whoever uses them reads them again by itself.
func (u *upkeep) renew() error {
	now := u.clock.Now()
	if u.certificates.IsDue(now) {
		if err := u.certificates.Issue(now); err != nil {
			return err
		}
		u.unwritten = true
	}
	if !u.unwritten {
		return nil
	}
	err := u.renewed() // which may be all that failed: other certificates would end connections
	u.unwritten = err != nil
	if err == nil {
		u.report("issued the certificates of the hub anew")
	}
	return err
}

func (u *upkeep) note(ctx context.Context, what string, err error) {
	if ctx.Err() != nil {
		return
	}
	words := ""
	if err != nil {
		words = err.Error()
	}
	if words != "" && words != u.failed[what] {
		u.report("%s: %v", what, err)
	}
	if u.failed == nil {
		u.failed = map[string]string{}
	}
	u.failed[what] = words
}
