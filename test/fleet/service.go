package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"fairlead.dev/test/process"
)

// service is a process and its readiness check.
type service struct {
	name, program string
	args          []string
	timeout       time.Duration
	// ready returns an error that says what is missing, or nil.
	ready func(context.Context) error
}

// up starts a service if it is not running, and waits until it is ready. A service that stops meanwhile is restarted
// once, as its systemd unit would: an API server exits if its database does not answer for seconds, as on a disk to
// which a build writes gigabytes.
func (f *Fleet) up(ctx context.Context, s service) error {
	began := time.Now()
	pid, err := f.PID(s.name)
	if err != nil {
		return err
	}
	running := pid != 0
	if !running {
		if err := f.start(s); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	var last error
	again := false
	err = wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		switch pid, err := f.PID(s.name); {
		case err != nil || pid == 0 && again:
			return false, errors.Join(err, errors.New("it stopped by itself"))
		case pid == 0:
			f.Report("%s stopped by itself, and is started once more:\n%s", s.name, process.Tail(f.Log(s.name)))
			again = true
			return false, f.start(s)
		}
		last = s.ready(ctx)
		return last == nil, nil
	})
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("not ready after %s: %w", s.timeout, last)
	case ctx.Err() != nil:
		return ctx.Err() // another service failed and reports its error
	}
	if err != nil {
		return fmt.Errorf("starting %q: %w\n%s", s.name, err, process.Tail(f.Log(s.name)))
	}
	if running {
		f.Report("%s is running%s", s.name, f.outdated(s))
	} else {
		f.Report("%s is ready after %.1f s", s.name, time.Since(began).Seconds())
	}
	return nil
}

// outdated reports that a running service is not the latest build.
func (f *Fleet) outdated(s service) string {
	program, err := os.Stat(f.Program(s.program))
	if err != nil {
		return ""
	}
	started, err := os.Stat(string(f.pidFile(s.name)))
	if err != nil || !program.ModTime().After(started.ModTime()) {
		return ""
	}
	return ", from an older build; it changes after a stop"
}

func (f *Fleet) start(s service) error {
	if err := os.MkdirAll(filepath.Join(f.Dir, "run"), 0o700); err != nil {
		return fmt.Errorf("making the directory of the fleet: %w", err)
	}
	p, err := process.Start(process.Spec{
		Executable: f.Program(s.program), Args: s.args, Log: f.Log(s.name), Detached: f.Detached,
	})
	if err != nil {
		return err
	}
	if err := f.pidFile(s.name).Write(p.PID()); err != nil {
		return fmt.Errorf("starting %q: %w\n%s", s.name, err, process.Tail(f.Log(s.name)))
	}
	return nil
}
