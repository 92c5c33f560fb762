package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/common/logging"
	"fairlead.dev/test/bench/meter"
)

// options are the flags.
type options struct {
	hub, floor string
	members    map[string]string
	processes  map[string]string
	bin, dir   string
	clusters   int

	n, writers, idle int
	workloads        []string
	quiet            time.Duration
	timeout          time.Duration
	progressTimeout  time.Duration
	rest             time.Duration
	out, profiles    string
	// socket is where the hub serves its profiles; empty if unknown.
	socket string
}

func main() { os.Exit(meter.Main("bench", run)) }

func parse() (options, error) {
	var o options
	f := pflag.CommandLine
	f.SortFlags = false
	f.StringVar(&o.hub, "hub", "", "kubeconfig of the hub; empty starts a fleet from --bin")
	f.StringToStringVar(&o.members, "members", nil, "kubeconfigs of the members, each as CLUSTER=FILE")
	f.StringToStringVar(&o.processes, "process", nil, "processes on this machine to watch, each as NAME=PID")
	f.StringVar(&o.floor, "floor", "", "kubeconfig of an API with the CRDs and no controllers, for the floor; empty measures none")
	f.StringVar(&o.bin, "bin", "bin", "directory of the built programs, for a fleet of our own")
	f.StringVar(&o.dir, "dir", "_bench/fleet", "directory of that fleet")
	f.IntVar(&o.clusters, "clusters", 3, "number of its members")
	f.DurationVar(&o.rest, "rest", 150*time.Second, "how long nothing happens before anything is written, to see what that takes; 0 leaves it out")
	f.IntVar(&o.n, "n", 1000, "templates of each workload")
	f.IntVar(&o.writers, "writers", 8, "how many write templates at a time, and the floor")
	f.IntVar(&o.idle, "idle", 25, "single templates on the idle system")
	f.DurationVar(&o.quiet, "quiet", 2*time.Second, "for how long nothing happens before each of them")
	f.StringSliceVar(&o.workloads, "workloads", workloadNames(), "what to run")
	f.DurationVar(&o.timeout, "timeout", 15*time.Minute, "how long one workload may take")
	f.DurationVar(&o.progressTimeout, "patience", 90*time.Second, "how long to wait for the next template to be done")
	f.StringVar(&o.profiles, "profiles", "", "directory for profiles of the processor time of each change, and of the floor; empty makes none")
	f.StringVar(&o.out, "out", "_bench/result.json", "where the result goes")
	if err := f.Parse(os.Args[1:]); err != nil {
		return o, err
	}
	if (o.hub == "") != (len(o.members) == 0) {
		return o, errors.New("--hub and --members belong together")
	}
	if o.n < 1 || o.writers < 1 || o.idle < 0 || o.rest < 0 {
		return o, fmt.Errorf("--n %d and --writers %d must be positive, and --idle %d and --rest %s not negative", o.n, o.writers, o.idle, o.rest)
	}
	return o, nil
}

func run(ctx context.Context) (missed int, err error) {
	o, err := parse()
	if err != nil {
		return 0, err
	}
	log, err := logging.New(os.Stderr, logging.FormatText, 0)
	if err != nil {
		return 0, err
	}
	logging.Install(log)
	ctx = ctrl.LoggerInto(ctx, log)

	if o.hub == "" {
		down, err := ownFleet(ctx, &o)
		defer down()
		if err != nil {
			return 0, err
		}
	}
	b, err := connect(ctx, o)
	if err != nil {
		return 0, err
	}
	result := Result{Machine: meter.ThisMachine(), When: time.Now().UTC(), Templates: o.n, Clusters: len(b.members), Writers: o.writers}
	if o.rest > 0 {
		if result.Idle, err = b.idleUse(ctx); err != nil {
			return 0, err
		}
	}
	if err := b.measureAll(ctx, &result); err != nil {
		// The measurements so far took many minutes.
		fmt.Printf("%s\n%s", result, judge(result))
		return 0, err
	}
	bars := judge(result)
	fmt.Printf("%s\n%s", result, bars)
	return bars.Missed(), nil
}

// measureAll measures one workload after the other, and writes the result after each.
func (b *bench) measureAll(ctx context.Context, result *Result) error {
	for _, name := range b.workloads {
		w, err := findWorkload(name)
		if err != nil {
			return err
		}
		measured, err := b.measure(ctx, w)
		if measured.complete() {
			result.Workloads = append(result.Workloads, measured)
			err = errors.Join(err, result.write(b.out))
		}
		if err != nil {
			return fmt.Errorf("measuring %s: %w", w.Name, err)
		}
	}
	return nil
}

// progress prints one line of progress.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...)
}

// podsNeeded returns how many pods of a workload a member runs at a time: during an update of all templates each has an
// old and a new pod. If they did not fit, the bench would measure how long a scheduler waits for room.
func (o options) podsNeeded() int { return 2 * max(o.n, o.idle) }

// pids returns the processes named by the flags.
func (o options) pids() (map[string]int, error) {
	out := map[string]int{}
	for name, text := range o.processes {
		pid, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || pid <= 0 {
			return nil, fmt.Errorf("--process %s=%s: not a process id", name, text)
		}
		out[name] = pid
	}
	return out, nil
}
