package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/test/bench/meter"
	"fairlead.dev/test/fleet"
	"fairlead.dev/test/process"
)

// member is the only cluster; namespace has the objects sent to it.
const (
	member    = "edge-1"
	namespace = "wan"
)

// Targets.
const (
	// mostBytes is the maximum of bytes on the line per byte of the objects.
	mostBytes = 1.5
	// mostConnections is how many connections an agent may open to a hub that it finds again: it must not retry in a
	// loop.
	mostConnections = 5
	// mostIdle is how many kilobytes an idle agent may exchange in an hour.
	mostIdle = 300
)

// writers is the number of concurrent writes, period the polling interval.
const (
	writers = 8
	period  = time.Second
)

type options struct {
	line
	works, changes    int
	large             int
	away, idle        time.Duration
	settle            time.Duration
	timeout           time.Duration
	bin, dir          string
	compress          string
	roundTrip         time.Duration
	kilobitsPerSecond float64
}

func main() { os.Exit(meter.Main("wan", run)) }

func parse() (options, error) {
	var o options
	f := pflag.CommandLine
	f.SortFlags = false
	f.DurationVar(&o.roundTrip, "round-trip", 600*time.Millisecond, "how long the line takes there and back")
	f.Float64Var(&o.kilobitsPerSecond, "rate", 128, "kilobits a second, each way")
	f.Float64Var(&o.loss, "loss", 0.02, "share of packets that are lost")
	f.IntVar(&o.works, "works", 1000, "how many Works come while the line is away")
	f.IntVar(&o.changes, "changes", 5, "how many single changes")
	f.DurationVar(&o.away, "away", time.Minute, "how long the line is away at least; the hub is restarted meanwhile")
	f.IntVar(&o.large, "large", 30, "how many Works of 48 kB that do not compress come while the line is away once more; 0 leaves that out")
	f.DurationVar(&o.settle, "settle", 3*time.Minute, "how long what the last connection left to do may take before the agent idles")
	f.DurationVar(&o.idle, "idle", 12*time.Minute, "how long to idle; what an hour takes is calculated from it")
	f.DurationVar(&o.timeout, "patience", 30*time.Minute, "how long one measurement may take")
	f.StringVar(&o.compress, "compress", "auto", "whether the agent asks for compressed answers: auto, true or false")
	f.StringVar(&o.bin, "bin", "bin", "directory of the built programs")
	f.StringVar(&o.dir, "dir", "_bench/wan", "directory of hub and member")
	if err := f.Parse(os.Args[1:]); err != nil {
		return o, err
	}
	if o.roundTrip < 0 || o.kilobitsPerSecond <= 0 || o.loss < 0 || o.loss >= 1 || o.works < 1 || o.changes < 1 || o.idle <= 0 || o.large < 0 || o.settle < 0 {
		return o, errors.New("--rate, --works, --changes and --idle must be positive, --round-trip, --large and --settle not negative, and --loss a share below 1")
	}
	o.delay, o.rate = o.roundTrip/2, o.kilobitsPerSecond*1000/8
	return o, nil
}

func run(ctx context.Context) (missed int, err error) {
	o, err := parse()
	if err != nil {
		return 0, err
	}
	ctrl.SetLogger(logr.Discard())
	r, err := newRelay(ctx, o.line)
	if err != nil {
		return 0, err
	}
	f, err := fleet.New(fleet.Options{
		Bin: o.bin, Dir: o.dir, Clusters: 1, Report: progress,
		HubArgs:   []string{"--advertise-url", r.URL()},
		AgentArgs: []string{"--compress=" + o.compress},
	})
	if err != nil {
		return 0, err
	}
	if err := os.RemoveAll(f.Dir); err != nil {
		return 0, fmt.Errorf("removing what an earlier run left: %w", err)
	}
	defer func() {
		downCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		err = errors.Join(err, r.Close(), f.Down(downCtx))
		if err == nil {
			err = process.Remove(f.Dir)
		}
	}()
	b := &bench{
		options: o, fleet: f, relay: r, bars: meter.Bars{Report: progress},
		report: meter.NewTable("what", "seconds", "to the member", "from it", "the objects' own bytes: Works / statuses", "times these", "times templates and statuses", "connections"),
	}
	for _, measure := range []func(context.Context) error{b.join, b.catchUp, b.single, b.rest, b.catchUpLarge} {
		measureCtx, cancel := context.WithTimeout(ctx, o.timeout)
		err = measure(measureCtx)
		cancel()
		if err != nil {
			break // earlier measurements are reported all the same
		}
	}
	fmt.Printf("\n%s there and back, %.0f kbit/s, %.0f %% of packets lost, compressed: %s\n\n", o.roundTrip, o.kilobitsPerSecond, o.loss*100, o.compress)
	fmt.Printf("%s\n%s", b.report, &b.bars)
	return b.bars.Missed(), err
}

// bench is a running measurement.
type bench struct {
	options
	fleet  *fleet.Fleet
	relay  *relay
	hub    client.Client
	member client.Client
	report *meter.Table
	bars   meter.Bars
}

// join measures from the first packet of the agent until the hub reports its cluster as Ready.
func (b *bench) join(ctx context.Context) error {
	if err := b.fleet.StartHub(ctx); err != nil {
		return err
	}
	target, err := b.address()
	if err != nil {
		return err
	}
	b.relay.Connect(target)
	if err := b.fleet.Up(ctx); err != nil {
		return err
	}
	b.row("a join", time.Since(b.relay.first), b.relay.usage(), bytes{})
	if b.hub, err = b.fleet.Client(fleet.HubName); err != nil {
		return err
	}
	b.member, err = b.fleet.Client(member)
	return err
}

// address returns the address of the hub.
func (b *bench) address() (string, error) {
	config, err := b.fleet.Config(fleet.HubName)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(config.Host)
	if err != nil {
		return "", fmt.Errorf("reading the address of the hub: %w", err)
	}
	return u.Host, nil
}

// single measures single changes, to the member and back to the status on the hub.
func (b *bench) single(ctx context.Context) error {
	before := b.relay.usage()
	var arrived, shown time.Duration
	for i := range b.changes {
		start := time.Now()
		obj := template(small, i)
		if err := b.hub.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return fmt.Errorf("reading a template: %w", err)
		}
		obj.Data["text"] = "changed"
		if err := b.hub.Update(ctx, obj); err != nil {
			return fmt.Errorf("changing a template: %w", err)
		}
		err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			live := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: obj.Namespace, Name: obj.Name}}
			err := b.member.Get(ctx, client.ObjectKeyFromObject(live), live)
			return err == nil && live.Data["text"] == "changed", client.IgnoreNotFound(err)
		})
		if err != nil {
			return fmt.Errorf("waiting for a change in the member: %w", err)
		}
		arrived += time.Since(start)
		if err := b.until(ctx, "", small, reported, b.works); err != nil {
			return err
		}
		shown += time.Since(start)
	}
	n := time.Duration(b.changes)
	progress("a change: %.1f s to the member, %.1f s to its status on the hub", (arrived / n).Seconds(), (shown / n).Seconds())
	used := b.relay.usage().minus(before)
	used.up, used.down = used.up/int64(n), used.down/int64(n)
	all, err := b.own(ctx, small)
	if err != nil {
		return err
	}
	b.row(fmt.Sprintf("a change, in the member after %.1f s, and its status (of %d)", (arrived/n).Seconds(), n), shown/n, used, all.each(b.works))
	b.judge("a change that comes alone", used, all.each(b.works))
	return nil
}

// rest measures the traffic of an hour without changes.
func (b *bench) rest(ctx context.Context) error {
	progress("idling for %s", b.settle+b.idle)
	if !sleep(ctx, b.settle) { // an agent sends some more requests to a hub that it had lost, and reports changes
		return ctx.Err()
	}
	before := b.relay.usage()
	if !sleep(ctx, b.idle) {
		return ctx.Err()
	}
	used := b.relay.usage().minus(before)
	hours := b.idle.Hours()
	b.bars.Most(fmt.Sprintf("connections of an agent with nothing to do within %s", b.idle), float64(used.connections), 0, "")
	used.up, used.down = int64(float64(used.up)/hours), int64(float64(used.down)/hours)
	b.bars.Most("an hour of idling", float64(used.up+used.down)/1000, mostIdle, "kB")
	pid, err := b.fleet.PID(fleet.AgentName(member))
	if err != nil {
		return err
	}
	agent, err := meter.ReadProcess(fleet.AgentName(member), pid)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("an hour of idling, calculated from %s; the agent has %d MB by then, and had %d", b.idle, agent.ResidentBytes>>20, agent.PeakBytes>>20)
	b.row(what, b.idle, used, bytes{})
	return nil
}

func labels() map[string]string { return map[string]string{"of": "wan"} }

// Sizes of templates, which are the prefixes of their names.
const (
	small = "load"
	large = "large"
)

// template returns a ConfigMap: a small one of words, or a large one that does not compress.
func template(size string, i int) *corev1.ConfigMap {
	name := fmt.Sprintf("%s-%05d", size, i)
	text := strings.Repeat("all work and no play ", 10)
	if size == large {
		random := make([]byte, 36_000)
		_, _ = rand.NewChaCha8([32]byte{byte(i), byte(i >> 8)}).Read(random) // it never fails
		text = base64.StdEncoding.EncodeToString(random)
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels()},
		Data:       map[string]string{"name": name, "text": text},
	}
}

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "wan: "+format+"\n", args...)
}
