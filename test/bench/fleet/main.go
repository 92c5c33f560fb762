package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/test/bench/meter"
)

// options are the flags.
type options struct {
	agents, bindings, copies int
	sizes                    []float64
	scenes                   []string
	idle                     time.Duration
	changes, silent          int
	lines                    bool
	bin, dir, profiles       string
	hubArgs                  []string
}

func main() { os.Exit(meter.Main("fleet", run)) }

func parse() (options, error) {
	var o options
	f := pflag.CommandLine
	f.SortFlags = false
	f.IntVar(&o.agents, "agents", 1000, "clusters, each with an agent")
	f.IntVar(&o.bindings, "bindings", 10000, "applications")
	f.IntVar(&o.copies, "copies", 1, "how many clusters an application goes to at most")
	f.Float64SliceVar(&o.sizes, "sizes", []float64{0.25, 0.5, 1}, "parts of that to measure, growing")
	f.StringSliceVar(&o.scenes, "scenes", usualScenes(), "what to measure, of "+strings.Join(sceneNames(), ", "))
	f.DurationVar(&o.idle, "idle", 30*time.Second, "how long to look at the idle system")
	f.IntVar(&o.silent, "silent", 20, "of a hundred clusters so many are silent during a staged rollout, and half of that more later")
	f.IntVar(&o.changes, "changes", 20, "changes of single templates")
	f.BoolVar(&o.lines, "lines", true, "agents keep lines open, as they do by default, and renew their leases rarely")
	f.StringVar(&o.bin, "bin", "bin", "directory of the built programs")
	f.StringVar(&o.dir, "dir", "_bench/hollow", "directory of the hub")
	f.StringVar(&o.profiles, "profiles", "", "directory for profiles of the processor time of each scene; empty makes none")
	f.StringSliceVar(&o.hubArgs, "hub-args", nil, "further flags of hub serve")
	if err := f.Parse(os.Args[1:]); err != nil {
		return o, err
	}
	switch {
	case o.agents < 4 || o.bindings < 1 || o.copies < 1:
		return o, fmt.Errorf("--agents %d must be 4 or more, --bindings %d and --copies %d positive", o.agents, o.bindings, o.copies)
	case o.silent < 0 || o.silent > 30:
		return o, fmt.Errorf("--silent %d must be 0 to 30: when most clusters are silent the hub suspects itself", o.silent)
	case len(o.sizes) == 0 || !slices.IsSorted(o.sizes) || o.sizes[0] <= 0:
		return o, fmt.Errorf("--sizes %v must be positive and grow", o.sizes)
	}
	for _, name := range o.scenes {
		if !slices.Contains(sceneNames(), name) {
			return o, fmt.Errorf("--scenes: there is no %q, only %v", name, sceneNames())
		}
	}
	return o, nil
}

func run(ctx context.Context) (missed int, err error) {
	o, err := parse()
	if err != nil {
		return 0, err
	}
	ctrl.SetLogger(logr.Discard())
	s, down, err := start(ctx, o)
	defer down()
	if err != nil {
		return 0, err
	}
	out := &report{machine: meter.ThisMachine().String(), when: time.Now(), copies: o.copies, lines: o.lines}
	for _, at := range o.all() {
		out.begin(at)
		for _, scene := range scenes() {
			if !scene.always && !slices.Contains(o.scenes, scene.name) {
				continue
			}
			if err := s.play(ctx, scene, at, out); err != nil {
				fmt.Printf("%s\n%s", out, &s.bars)
				return 0, fmt.Errorf("%s with %s: %w", scene.name, at, err)
			}
		}
		s.promised("all scenes", at, full(), "memory of the hub at its most", float64(s.hubPeak)/1e6, mostHubMemory, "MB")
	}
	fmt.Printf("%s\n%s", out, &s.bars)
	return s.bars.Missed(), nil
}

// progress prints one line of progress.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "fleet: %s "+format+"\n", append([]any{time.Now().Format("15:04:05")}, args...)...)
}
