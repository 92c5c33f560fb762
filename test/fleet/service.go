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

// service is a process and how to tell that it works.
type service struct {
	name, program string
	args          []string
	timeout       time.Duration
	// ready says what is missing, or nil.
	ready func(context.Context) error
}

// up starts a service if it is not running, and waits until it works.
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
	err = wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		if pid, err := f.PID(s.name); err != nil || pid == 0 {
			return false, errors.Join(err, errors.New("it stopped by itself"))
		}
		last = s.ready(ctx)
		return last == nil, nil
	})
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("not ready after %s: %w", s.timeout, last)
	case ctx.Err() != nil:
		return ctx.Err() // something else failed, and says so
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

// outdated says that a running service is not the one that was built last.
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
