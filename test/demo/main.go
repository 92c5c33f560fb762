package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/common/filelock"
	"fairlead.dev/test/fleet"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctrl.SetLogger(logr.Discard()) // progress is reported instead
	cmd := newCommand(os.Stdout)
	err := cmd.ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "demo: %v\n", err)
		os.Exit(1)
	}
}

// demo is one run of the program.
type demo struct {
	dir, bin, examples string
	clusters           int

	out   io.Writer
	began time.Time
}

func newCommand(out io.Writer) *cobra.Command {
	d := &demo{out: out, began: time.Now()}
	root := &cobra.Command{
		Use: "demo", Short: "A hub and its members on this machine",
		SilenceUsage: true, SilenceErrors: true,
	}
	flags := root.PersistentFlags()
	flags.StringVar(&d.dir, "dir", "_demo", "directory of all that the demo writes")
	flags.StringVar(&d.bin, "bin", "bin", "directory of the built programs")
	flags.StringVar(&d.examples, "examples", "manifests/examples", "directory of the examples")
	flags.IntVar(&d.clusters, "clusters", 3, "number of members")
	for _, c := range []struct {
		use, short string
		run        func(context.Context, *fleet.Fleet) error
	}{
		{"run", "Start what is not running and apply the examples", d.run},
		{"up", "Start what is not running", d.up},
		{"down", "Stop everything and remove what was written", d.down},
	} {
		root.AddCommand(&cobra.Command{Use: c.use, Short: c.short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
			if d.clusters < 1 || d.clusters > 100 {
				return fmt.Errorf("%d clusters are not between 1 and 100", d.clusters)
			}
			f, err := fleet.New(fleet.Options{Bin: d.bin, Dir: d.dir, Clusters: d.clusters, UnsafeExec: true, Detached: true, Report: d.report})
			if err != nil {
				return err
			}
			unlock, err := d.lock()
			if err != nil {
				return err
			}
			defer unlock()
			return c.run(cmd.Context(), f)
		}})
	}
	return root
}

// lock excludes concurrent runs, by a lock on the directory itself.
func (d *demo) lock() (func(), error) {
	dir := filepath.Clean(d.dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of the demo: %w", err)
	}
	file, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the directory of the demo: %w", err)
	}
	if err := filelock.Hold(file); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("another run of the demo is at work in %q; wait for it to end", d.dir)
	}
	return func() { _ = file.Close() }, nil
}

func (d *demo) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(d.out, format, args...) // there is nobody to report an error to
}

// report prints a line of progress.
func (d *demo) report(format string, args ...any) {
	d.printf("%6.1f s  %s\n", time.Since(d.began).Seconds(), fmt.Sprintf(format, args...))
}

func (d *demo) up(ctx context.Context, f *fleet.Fleet) error {
	if err := d.start(ctx, f); err != nil {
		return err
	}
	return d.show(ctx, f, false)
}

func (d *demo) run(ctx context.Context, f *fleet.Fleet) error {
	if err := d.start(ctx, f); err != nil {
		return err
	}
	if err := d.apply(ctx, f); err != nil {
		return err
	}
	return d.show(ctx, f, true)
}

func (d *demo) start(ctx context.Context, f *fleet.Fleet) error {
	d.report("starting a hub and %d members; logs are in %s/logs", d.clusters, d.dir)
	if err := f.Up(ctx); err != nil {
		if ctx.Err() != nil {
			return errors.New("interrupted; what has been started is still running: `make demo-down` stops it")
		}
		return fmt.Errorf("%w\nWhat has been started is still running: `make demo` tries again, `make demo-down` stops it", err)
	}
	return nil
}

func (d *demo) down(ctx context.Context, f *fleet.Fleet) error {
	if err := f.Down(ctx); err != nil {
		return err
	}
	if err := os.RemoveAll(d.dir); err != nil {
		return fmt.Errorf("removing what the demo wrote: %w", err)
	}
	d.report("nothing is running, and %s is removed", d.dir)
	return nil
}
