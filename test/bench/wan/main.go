package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/fleet"
	"fairlead.dev/test/process"
)

// member is the only one, namespace where what is sent to it is.
const (
	member    = "edge-1"
	namespace = "wan"
)

// most is how many bytes may go to the member for each of the objects' own.
const most = 1.5

// writers is how many write at a time, period how often it is looked how far all is.
const (
	writers = 8
	period  = time.Second
)

type options struct {
	line
	works, changes    int
	away, idle        time.Duration
	patience          time.Duration
	bin, dir          string
	compress          string
	roundTrip         time.Duration
	kilobitsPerSecond float64
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "wan: %v\n", err)
		os.Exit(1)
	}
}

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
	f.DurationVar(&o.idle, "idle", 3*time.Minute, "how long to idle; what an hour takes is calculated from it")
	f.DurationVar(&o.patience, "patience", 30*time.Minute, "how long one measurement may take")
	f.StringVar(&o.compress, "compress", "auto", "whether the agent asks for compressed answers: auto, true or false")
	f.StringVar(&o.bin, "bin", "bin", "directory of the built programs")
	f.StringVar(&o.dir, "dir", "_bench/wan", "directory of hub and member")
	if err := f.Parse(os.Args[1:]); err != nil {
		return o, err
	}
	if o.roundTrip < 0 || o.kilobitsPerSecond <= 0 || o.loss < 0 || o.loss >= 1 || o.works < 1 || o.changes < 1 || o.idle <= 0 {
		return o, errors.New("--rate, --works, --changes and --idle must be positive, --round-trip not negative, and --loss a share below 1")
	}
	o.delay, o.rate = o.roundTrip/2, o.kilobitsPerSecond*1000/8
	return o, nil
}

func run(ctx context.Context) (err error) {
	o, err := parse()
	if err != nil {
		return err
	}
	ctrl.SetLogger(logr.Discard())
	r, err := newRelay(ctx, o.line)
	if err != nil {
		return err
	}
	f, err := fleet.New(fleet.Options{
		Bin: o.bin, Dir: o.dir, Clusters: 1, Report: progress,
		HubArgs:   []string{"--advertise-url", r.URL()},
		AgentArgs: []string{"--compress=" + o.compress},
	})
	if err != nil {
		return err
	}
	if err := os.RemoveAll(f.Dir); err != nil {
		return fmt.Errorf("removing what an earlier run left: %w", err)
	}
	defer func() {
		downCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		err = errors.Join(err, r.Close(), f.Down(downCtx))
		if err == nil {
			err = process.Remove(f.Dir)
		}
	}()
	b := &bench{options: o, fleet: f, relay: r}
	for _, measure := range []func(context.Context) error{b.join, b.catchUp, b.single, b.rest} {
		measureCtx, cancel := context.WithTimeout(ctx, o.patience)
		err := measure(measureCtx)
		cancel()
		if err != nil {
			return err
		}
	}
	fmt.Printf("\n%s there and back, %.0f kbit/s, %.0f %% of packets lost, compressed: %s\n\n", o.roundTrip, o.kilobitsPerSecond, o.loss*100, o.compress)
	fmt.Println("| what | seconds | to the member | from it | the objects' own bytes, to / from | connections |")
	fmt.Println("|---|---|---|---|---|---|")
	fmt.Print(b.report.String())
	return errors.Join(b.broken...)
}

// bench is what is measured, and with what.
type bench struct {
	options
	fleet  *fleet.Fleet
	relay  *relay
	hub    client.Client
	member client.Client
	report strings.Builder
	broken []error
}

// join measures from the first packet of the agent until the hub calls its cluster ready.
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
	b.row("a join", time.Since(b.relay.first), b.relay.usage(), 0, 0)
	if b.hub, err = b.fleet.Client(fleet.HubName); err != nil {
		return err
	}
	b.member, err = b.fleet.Client(member)
	return err
}

// address is where the hub listens.
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

// catchUp measures how long the Works take that were made while the line was away.
func (b *bench) catchUp(ctx context.Context) error {
	b.relay.Cut()
	cut := time.Now()
	policy := &policyv1alpha1.PropagationPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "all"},
		Spec: policyv1alpha1.PropagationSpec{
			ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "v1", Kind: "ConfigMap", LabelSelector: &metav1.LabelSelector{MatchLabels: labels()}}},
			Placement: policyv1alpha1.Placement{
				ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{member}},
				// It gets what is new although it is not heard from.
				ClusterTolerations: []corev1.Toleration{{Key: contract.TaintClusterUnreachable, Operator: corev1.TolerationOpExists}},
			},
		},
	}
	for _, obj := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, policy} {
		if err := b.hub.Create(ctx, obj); err != nil {
			return fmt.Errorf("making %q: %w", obj.GetName(), err)
		}
	}
	progress("the line is away; making %d templates", b.works)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(writers)
	for i := range b.works {
		g.Go(func() error { return b.hub.Create(gctx, template(fmt.Sprintf("load-%05d", i))) })
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("making templates: %w", err)
	}
	if err := b.until(ctx, "Works made", func(works []workv1alpha1.Work) int { return len(works) }, b.works); err != nil {
		return err
	}
	progress("restarting the hub")
	if err := b.fleet.Stop(ctx, fleet.HubName); err != nil {
		return err
	}
	if err := b.fleet.StartHub(ctx); err != nil {
		return err
	}
	if !sleep(ctx, b.away-time.Since(cut)) {
		return ctx.Err()
	}
	target, err := b.address()
	if err != nil {
		return err
	}
	before, began := b.relay.usage(), time.Now()
	b.relay.Connect(target)
	if err := b.until(ctx, "Works reported", reported, b.works); err != nil {
		return err
	}
	took, used := time.Since(began), b.relay.usage().minus(before)
	down, up, err := b.own(ctx)
	if err != nil {
		return err
	}
	b.row(fmt.Sprintf("%d Works after the line was away", b.works), took, used, down, up)
	if limit := most * float64(down+up); float64(used.down+used.up) > limit {
		b.broken = append(b.broken, fmt.Errorf("%d Works took %d bytes, more than %.1f times their own %d", b.works, used.down+used.up, most, down+up))
	}
	return nil
}

// single measures changes that come alone, to the member and to the status on the hub.
func (b *bench) single(ctx context.Context) error {
	before := b.relay.usage()
	var arrived, shown time.Duration
	for i := range b.changes {
		start := time.Now()
		obj := template(fmt.Sprintf("load-%05d", i))
		if err := b.hub.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return fmt.Errorf("reading a template: %w", err)
		}
		obj.Data["text"] = "changed"
		if err := b.hub.Update(ctx, obj); err != nil {
			return fmt.Errorf("changing a template: %w", err)
		}
		err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			live := template(obj.Name)
			err := b.member.Get(ctx, client.ObjectKeyFromObject(live), live)
			return err == nil && live.Data["text"] == "changed", client.IgnoreNotFound(err)
		})
		if err != nil {
			return fmt.Errorf("waiting for a change in the member: %w", err)
		}
		arrived += time.Since(start)
		if err := b.until(ctx, "", reported, b.works); err != nil {
			return err
		}
		shown += time.Since(start)
	}
	n := time.Duration(b.changes)
	progress("a change: %.1f s to the member, %.1f s to its status on the hub", (arrived / n).Seconds(), (shown / n).Seconds())
	used := b.relay.usage().minus(before)
	used.up, used.down = used.up/int64(n), used.down/int64(n)
	down, up, err := b.own(ctx)
	if err != nil {
		return err
	}
	b.row(fmt.Sprintf("a change, in the member after %.1f s, and its status (of %d)", (arrived/n).Seconds(), n), shown/n, used, down/int64(b.works), up/int64(b.works))
	return nil
}

// rest measures what an hour without a change takes.
func (b *bench) rest(ctx context.Context) error {
	progress("idling for %s", b.idle)
	if !sleep(ctx, 5*time.Second) { // what the last change left to tell
		return ctx.Err()
	}
	before := b.relay.usage()
	if !sleep(ctx, b.idle) {
		return ctx.Err()
	}
	used := b.relay.usage().minus(before)
	hours := b.idle.Hours()
	if used.connections > 0 {
		b.broken = append(b.broken, fmt.Errorf("an agent with nothing to do opened %d connections within %s", used.connections, b.idle))
	}
	used.up, used.down = int64(float64(used.up)/hours), int64(float64(used.down)/hours)
	b.row(fmt.Sprintf("an hour of idling, calculated from %s", b.idle), b.idle, used, 0, 0)
	return nil
}

// until waits until so many Works are as they should be.
func (b *bench) until(ctx context.Context, what string, count func([]workv1alpha1.Work) int, want int) error {
	told := time.Now()
	err := wait.PollUntilContextCancel(ctx, period, true, func(ctx context.Context) (bool, error) {
		var works workv1alpha1.WorkList
		if err := b.list(ctx, &works); err != nil {
			return false, err
		}
		n := count(works.Items)
		if what != "" && time.Since(told) > 10*time.Second {
			told = time.Now()
			progress("%d of %d %s", n, want, what)
		}
		return n >= want, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %d %s: %w", want, what, err)
	}
	return nil
}

// list returns the Works of the templates.
func (b *bench) list(ctx context.Context, works *workv1alpha1.WorkList) error {
	if err := b.hub.List(ctx, works, client.InNamespace(contract.DefaultExecutionNamespacePrefix+member)); err != nil {
		return fmt.Errorf("listing Works: %w", err)
	}
	ours := works.Items[:0]
	for _, w := range works.Items {
		if w.Annotations[contract.ResourceBindingNamespaceAnnotation] == namespace {
			ours = append(ours, w)
		}
	}
	works.Items = ours
	return nil
}

func reported(works []workv1alpha1.Work) int {
	n := 0
	for i := range works {
		applied := meta.FindStatusCondition(works[i].Status.Conditions, workv1alpha1.WorkApplied)
		if applied != nil && applied.Status == metav1.ConditionTrue && applied.ObservedGeneration == works[i].Generation {
			n++
		}
	}
	return n
}

// own is how many bytes the Works are, and their statuses.
func (b *bench) own(ctx context.Context) (down, up int64, err error) {
	var works workv1alpha1.WorkList
	if err := b.list(ctx, &works); err != nil {
		return 0, 0, err
	}
	for _, w := range works.Items {
		status, err := json.Marshal(w.Status)
		if err != nil {
			return 0, 0, fmt.Errorf("encoding a status: %w", err)
		}
		w.Status, w.ManagedFields = workv1alpha1.WorkStatus{}, nil
		object, err := json.Marshal(w)
		if err != nil {
			return 0, 0, fmt.Errorf("encoding a Work: %w", err)
		}
		down, up = down+int64(len(object)), up+int64(len(status))
	}
	return down, up, nil
}

// row adds a line to the report.
func (b *bench) row(what string, took time.Duration, used usage, down, up int64) {
	own := "–"
	if down+up > 0 {
		own = fmt.Sprintf("%s / %s", kilobytes(down), kilobytes(up))
	}
	progress("%s: %.1f s, %s to the member, %s from it, %d connections", what, took.Seconds(), kilobytes(used.down), kilobytes(used.up), used.connections)
	fmt.Fprintf(&b.report, "| %s | %.1f | %s | %s | %s | %d |\n", what, took.Seconds(), kilobytes(used.down), kilobytes(used.up), own, used.connections)
}

func kilobytes(n int64) string { return fmt.Sprintf("%.1f kB", float64(n)/1000) }

func labels() map[string]string { return map[string]string{"of": "wan"} }

// template is a small ConfigMap.
func template(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels()},
		Data:       map[string]string{"name": name, "text": strings.Repeat("all work and no play ", 10)},
	}
}

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "wan: "+format+"\n", args...)
}
