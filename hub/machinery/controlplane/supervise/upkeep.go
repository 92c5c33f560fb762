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
	// upkeepInterval is the default time between two rounds of upkeep. Between the warning that the database is nearly full and a full
	// database there are minutes even at the fastest rate of writes.
	upkeepInterval = time.Minute
	// maxClockBack bounds how far the machine's clock may be set back: the certificate by which kube-apiserver connects to itself is valid
	// from one hour before its start. It is valid for three years, which maxRuntime stays below.
	maxClockBack = 50 * time.Minute
	maxRuntime   = 2 * 365 * 24 * time.Hour
)

// upkeep is the periodic maintenance of a running control plane: database space and certificates.
type upkeep struct {
	clock  clock.Clock
	began  time.Time
	every  time.Duration
	report Report
	space  *spaceReclaimer
	// certificates reissues the certificates before they expire, and renewed then writes the kubeconfigs that contain them.
	certificates *pki.Bundle
	renewed      func() error
	// unwritten says that the last call of renewed failed.
	unwritten bool
	// failed has the message of the last error of each task, so that it is reported once.
	failed map[string]string
	// ended gets the error because of which the control plane has to be restarted.
	ended chan error
	done  sync.WaitGroup
}

// newUpkeep returns the upkeep of the database and of the certificates, which has not begun.
func (r run) newUpkeep() *upkeep {
	return &upkeep{
		clock: r.clock, began: r.clock.Now().Round(0), every: r.UpkeepInterval, report: r.report, ended: make(chan error, 1),
		space:        &spaceReclaimer{dir: r.dir, etcd: r.Etcd, client: r.store.client, report: r.report, admit: r.private.admit},
		certificates: r.in.PKI, renewed: func() error { return writeCredentials(r.Config, r.dir, r.in) },
	}
}

// start runs the upkeep at each interval until the context ends.
func (u *upkeep) start(ctx context.Context) {
	u.done.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-u.clock.After(u.every):
			}
			if err := checkRuntime(u.began, u.clock.Now()); err != nil {
				u.ended <- err
				return
			}
			u.runOnce(ctx, false)
		}
	})
}

// checkRuntime returns an error if only a restart helps, by the wall clock: the certificates in kube-apiserver's memory are not valid yet
// or expire soon, and renewing the files does not replace them.
func checkRuntime(began, now time.Time) error {
	switch {
	case now.Before(began.Add(-maxClockBack)):
		return fmt.Errorf("the clock of this machine was at %s when this hub started, and is at %s now: the certificates in its memory are not good yet, so it ends, and has to be started again",
			began.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	case now.After(began.Add(maxRuntime)):
		return fmt.Errorf("this hub has run since %s, and the certificates in its memory end: it ends, and has to be started again", began.UTC().Format(time.RFC3339))
	default:
		return nil
	}
}

// runOnce runs all tasks. A failure is reported once, and the task is tried again in the next round.
func (u *upkeep) runOnce(ctx context.Context, starting bool) {
	u.reportFailure(ctx, "looking whether the database has room", u.space.check(ctx, starting))
	u.reportFailure(ctx, "issuing certificates anew", u.renew())
}

// renew reissues certificates that expire soon. The components reload the files by themselves.
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

func (u *upkeep) reportFailure(ctx context.Context, what string, err error) {
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
