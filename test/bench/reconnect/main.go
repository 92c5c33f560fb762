package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/test/bench/meter"
	"fairlead.dev/test/fleet"
	"fairlead.dev/test/process"
)

// Targets: how long agents may take, and how many of a hundred requests may be rejected.
const (
	budget      = time.Minute
	mostRefused = 1
)

const (
	joiners      = 8
	lookEvery    = 250 * time.Millisecond
	startTimeout = 10 * time.Minute
)

type options struct {
	agents   int
	away     time.Duration
	bin, dir string
}

func main() { os.Exit(meter.Main("reconnect", run)) }

func run(ctx context.Context) (missed int, err error) {
	var o options
	pflag.IntVar(&o.agents, "agents", 500, "how many agents")
	pflag.DurationVar(&o.away, "away", time.Minute, "how long the hub is away")
	pflag.StringVar(&o.bin, "bin", "bin", "directory of the built programs")
	pflag.StringVar(&o.dir, "dir", "_bench/reconnect", "directory of the hub")
	if err := pflag.CommandLine.Parse(os.Args[1:]); err != nil {
		return 0, err
	}
	ctrl.SetLogger(logr.Discard())
	f, err := fleet.New(fleet.Options{Bin: o.bin, Dir: o.dir, Report: progress})
	if err != nil {
		return 0, err
	}
	if err := os.RemoveAll(f.Dir); err != nil {
		return 0, fmt.Errorf("removing what an earlier run left: %w", err)
	}
	defer func() {
		downCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		err = errors.Join(err, f.Down(downCtx), process.Remove(f.Dir))
	}()
	if err := f.Up(ctx); err != nil {
		return 0, err
	}
	members := newMembers()
	defer members.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b := &bench{options: o, fleet: f, counts: &counts{}, ended: make(chan error, o.agents)}
	if err := b.start(ctx, members); err != nil {
		return 0, err
	}
	if err := b.measure(ctx); err != nil {
		return 0, err
	}
	fmt.Printf("\nOn %s; %s\n\n%s", meter.ThisMachine(), time.Now().Format(time.DateOnly), &b.bars)
	return b.bars.Missed(), nil
}

// bench is a hub and its agents.
type bench struct {
	options

	fleet  *fleet.Fleet
	agents []*agent
	counts *counts
	ended  chan error
	bars   meter.Bars
}

// start joins and runs all agents.
func (b *bench) start(ctx context.Context, members *httptest.Server) error {
	scheme, err := kube.NewScheme()
	if err != nil {
		return err
	}
	args, err := b.token(ctx)
	if err != nil {
		return err
	}
	workload := fake.NewClientBuilder().WithScheme(scheme).Build()
	began := time.Now()
	group, joining := errgroup.WithContext(ctx)
	group.SetLimit(joiners)
	for i := range b.options.agents {
		name := "light-" + strconv.Itoa(i)
		a := &agent{name: name, member: &rest.Config{Host: members.URL + "/" + name}, counts: b.counts}
		b.agents = append(b.agents, a)
		group.Go(func() error {
			credentials, err := a.join(joining, filepath.Join(b.fleet.Dir, "agents"), args)
			if err != nil {
				return err
			}
			go func() { b.ended <- a.run(ctx, scheme, credentials, workload) }()
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	progress("%d agents joined after %.1f s, %d at a time", b.options.agents, time.Since(began).Seconds(), joiners)
	took, err := b.awaitReady(ctx, began)
	if err != nil {
		return err
	}
	progress("all of them are Ready %.1f s after the first began to join", took[len(took)-1].Seconds())
	return nil
}

// token creates a token for all agents, and returns the arguments of the join command.
func (b *bench) token(ctx context.Context) ([]string, error) {
	out, err := b.fleet.Run(ctx, "hub", "token", "create", "--cluster-pattern", "light-*", "--max-uses", strconv.Itoa(b.options.agents),
		"--kubeconfig", b.fleet.Kubeconfig(fleet.HubName))
	if err != nil {
		return nil, err
	}
	_, command, found := strings.Cut(out, "agent join ")
	if !found {
		return nil, errors.New("`hub token create` printed no `agent join` command")
	}
	return strings.Fields(command), nil
}

// measure stops the hub and starts it again.
func (b *bench) measure(ctx context.Context) error {
	if err := b.fleet.Kill(ctx, fleet.HubName); err != nil {
		return err
	}
	progress("the hub is killed; it stays away for %s", b.away)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-b.ended:
		return fmt.Errorf("an agent stopped by itself: %w", err)
	case <-time.After(b.away):
	}
	requests, refused := b.counts.requests.Load(), b.counts.refused.Load()
	began := time.Now()
	if err := b.fleet.StartHub(ctx); err != nil {
		return err
	}
	up := time.Now()
	took, err := b.awaitReady(ctx, began)
	if err != nil {
		return err
	}
	requests, refused = b.counts.requests.Load()-requests, b.counts.refused.Load()-refused
	share := float64(refused) / float64(max(requests, 1))
	last := took[len(took)-1] - up.Sub(began)
	fmt.Printf("%d agents; the hub's API was up %.1f s after its start, and half of the agents were Ready again %.1f s after that. "+
		"It has answered %d requests of agents since, and refused %d of them with 429.\n",
		len(b.agents), up.Sub(began).Seconds(), max(took[len(took)/2]-up.Sub(began), 0).Seconds(), requests, refused)
	b.bars.Most("from when the hub's API is up until all agents are Ready again", last.Seconds(), budget.Seconds(), "s")
	b.bars.Most("requests of agents that are refused meanwhile", 100*share, mostRefused, "%")
	return nil
}

// awaitReady returns, sorted, how long after began each agent was Ready, had renewed its lease and was watching its
// Works.
func (b *bench) awaitReady(ctx context.Context, began time.Time) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	seen := map[string]time.Duration{}
	for ticker := time.NewTicker(lookEvery); ; {
		select {
		case <-ctx.Done():
			ticker.Stop()
			return nil, fmt.Errorf("%d of %d agents are Ready: %w", len(seen), len(b.agents), ctx.Err())
		case err := <-b.ended:
			ticker.Stop()
			return nil, fmt.Errorf("an agent stopped by itself: %w", err)
		case <-ticker.C:
		}
		if err := b.look(ctx, began, seen); err != nil {
			continue // the hub is not up yet
		}
		if len(seen) == len(b.agents) {
			ticker.Stop()
			took := make([]time.Duration, 0, len(seen))
			for _, d := range seen {
				took = append(took, d)
			}
			slices.Sort(took)
			return took, nil
		}
	}
}

func (b *bench) look(ctx context.Context, began time.Time, seen map[string]time.Duration) error {
	hubClient, err := b.fleet.Client(fleet.HubName)
	if err != nil {
		return err
	}
	clusters, leases := &clusterv1alpha1.ClusterList{}, &coordinationv1.LeaseList{}
	if err := hubClient.List(ctx, clusters); err != nil {
		return err
	}
	if err := hubClient.List(ctx, leases, client.InNamespace(contract.ClusterNamespace)); err != nil {
		return err
	}
	good := map[string]bool{}
	for i := range clusters.Items {
		good[clusters.Items[i].Name] = meta.IsStatusConditionTrue(clusters.Items[i].Status.Conditions, clusterv1alpha1.ClusterReady)
	}
	renewed := map[string]bool{}
	for i := range leases.Items {
		at := leases.Items[i].Spec.RenewTime
		renewed[leases.Items[i].Name] = at != nil && at.After(began)
	}
	for _, a := range b.agents {
		if _, known := seen[a.name]; !known && good[a.name] && renewed[a.name] && a.watching.Load() > began.UnixNano() {
			seen[a.name] = time.Since(began)
		}
	}
	return nil
}

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "reconnect: "+format+"\n", args...)
}
