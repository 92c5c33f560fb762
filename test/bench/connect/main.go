package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/common/logging"
	"fairlead.dev/test/bench/meter"
)

// options are the flags.
type options struct {
	lines, requests, megabytes int
	silence                    time.Duration
	scenes                     []string
	bin, profiles              string
}

func main() { os.Exit(meter.Main("connect", run)) }

func run(ctx context.Context) (missed int, err error) {
	var o options
	f := pflag.CommandLine
	f.IntVar(&o.lines, "lines", 500, "lines of hollow agents")
	f.IntVar(&o.requests, "requests", 1000, "requests whose time is taken")
	f.IntVar(&o.megabytes, "megabytes", 200, "size of the log that is read")
	f.DurationVar(&o.silence, "silence", 0, "how long exec says nothing in one more scene, silence; 0 leaves it out")
	f.StringSliceVar(&o.scenes, "scenes", []string{"latency", "throughput", "copy", "unsent", "idle", "streams", "restart"}, "what to measure; streams and restart need idle")
	f.StringVar(&o.profiles, "profiles", "", "directory to which the profiles of hub and API server are written, before idle lines are opened and after")
	f.StringVar(&o.bin, "bin", "bin", "directory of the built programs")
	if err := f.Parse(os.Args[1:]); err != nil {
		return 0, err
	}
	if o.lines < streamLines || o.requests < 1 || o.megabytes < 1 || o.silence < 0 {
		return 0, fmt.Errorf("--lines %d must be %d or more, --requests %d, --megabytes %d positive and --silence %s not negative", o.lines, streamLines, o.requests, o.megabytes, o.silence)
	}
	if o.silence > 0 {
		o.scenes = append(o.scenes, "silence")
	}
	ctrl.SetLogger(logr.Discard())
	logging.Quiet()
	s, down, err := start(ctx, o)
	defer down()
	if err != nil {
		return 0, err
	}
	for _, scene := range []struct {
		name string
		play func(context.Context) error
	}{
		{"latency", s.latency},
		{"throughput", s.throughput},
		{"copy", s.copies},
		{"unsent", s.unsent},
		{"idle", s.idle},
		{"streams", s.streams},
		{"restart", s.restart},
		{"silence", s.silent},
	} {
		if !slices.Contains(o.scenes, scene.name) {
			continue
		}
		progress("%s", scene.name)
		if err := scene.play(ctx); err != nil {
			fmt.Println(&s.bars)
			return 0, fmt.Errorf("%s: %w", scene.name, err)
		}
	}
	fmt.Printf("\nOn %s; %s\n\n%s", meter.ThisMachine(), time.Now().Format(time.DateOnly), &s.bars)
	return s.bars.Missed(), nil
}

// progress prints one line of progress.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "connect: %s "+format+"\n", append([]any{time.Now().Format("15:04:05")}, args...)...)
}
