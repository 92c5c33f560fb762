package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/common/prose"
	"fairlead.dev/hub/people/view"
	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/hub/people/view/clusters"
)

// The states that can be waited for.
const (
	untilScheduled = "scheduled"
	untilApplied   = "applied"
	untilReady     = "ready"
	untilDeleted   = "deleted"
)

// lookEvery is the interval of checks.
const lookEvery = 500 * time.Millisecond

// waitFlags are the flags of `hub wait`.
type waitFlags struct {
	hub       hubFlags
	namespace namespaceFlags
	until     string
	timeout   time.Duration
	quiet     bool
}

func newWait(env Environment) *cobra.Command {
	var f waitFlags
	cmd := &cobra.Command{
		Use:   "wait KIND/NAME | cluster/NAME",
		Short: "Wait until an application is where it should be, or a cluster is ready",
		Long: "Wait, and say what changes meanwhile. An application is scheduled when it has clusters, applied when each of them has\n" +
			"it as asked for, ready when it is healthy in each and all are heard from, and deleted when no cluster has it any more.\n" +
			"A cluster is ready when its agent says so. Ends with status 3 if that does not come about in time. A hub that is away\n" +
			"for a moment is asked again.",
		Example: "  hub wait deployment/web -n shop\n  hub wait deployment/web --for applied --timeout 2m\n  hub wait cluster/edge-1",
		Args:    cobra.MaximumNArgs(2),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), env, args) },
	}
	fs := cmd.Flags()
	f.hub.add(env, cmd)
	f.namespace.add(env, cmd, &f.hub, "object")
	fs.StringVar(&f.until, "for", untilReady, "what to wait for: scheduled, applied, ready or deleted; of a cluster ready or deleted")
	fs.DurationVar(&f.timeout, "timeout", 5*time.Minute, "how long to wait")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "do not say what changes meanwhile")
	complete(cmd, "for", []string{untilScheduled, untilApplied, untilReady, untilDeleted})
	cmd.ValidArgsFunction = completing(env, &f.hub, orCluster(applicationNames(&f.namespace)))
	return cmd
}

// progress is the result of one check.
type progress struct {
	done bool
	// said describes the progress for people.
	said string
}

func (f *waitFlags) run(ctx context.Context, env Environment, args []string) error {
	kind, name, err := objectArgument(args, false)
	if err != nil {
		return err
	}
	if f.timeout <= 0 {
		return fmt.Errorf("--timeout %s is not positive", f.timeout)
	}
	ofCluster := isCluster(kind)
	allowed := []string{untilScheduled, untilApplied, untilReady, untilDeleted}
	if ofCluster {
		allowed = []string{untilReady, untilDeleted}
	}
	if !slices.Contains(allowed, f.until) {
		return fmt.Errorf("--for %q is none of %s", f.until, strings.Join(allowed, ", "))
	}
	hub, err := f.hub.open(env)
	if err != nil {
		return err
	}
	if ofCluster {
		return f.poll(ctx, env, "cluster "+name, func() (progress, error) { return f.cluster(ctx, hub, name) })
	}
	namespace, err := f.namespace.one(hub)
	if err != nil {
		return err
	}
	ref, err := hub.ref(kind, namespace, name)
	if err != nil {
		return err
	}
	return f.poll(ctx, env, ref.String(), func() (progress, error) { return f.application(ctx, hub, ref) })
}

// poll checks until it is done or the time is over, and prints changes.
func (f *waitFlags) poll(ctx context.Context, env Environment, what string, look func() (progress, error)) error {
	begin := env.Clock.Now()
	said := ""
	hubAway := outage{env: env, ends: begin.Add(f.timeout)}
	for {
		p, err := look()
		again, err := hubAway.again(err)
		if err != nil {
			return err
		}
		p.said = prose.OneLine(p.said)
		took := env.Clock.Now().Sub(begin).Round(time.Second)
		if p.said != said && !again && !f.quiet {
			say(env.Err, "%4s  %s", took, p.said)
		}
		switch {
		case again:
		case p.done:
			say(env.Out, "%s is %s", what, f.until)
			return nil
		case took >= f.timeout:
			return &statusError{ExitTimeout, fmt.Sprintf("%s is not %s after %s: %s", what, f.until, f.timeout, p.said)}
		default:
			said = p.said
		}
		select {
		case <-ctx.Done():
			return errors.New("told to stop waiting for " + what)
		case <-env.Clock.After(min(lookEvery, f.timeout)):
		}
	}
}

// application checks an application.
func (f *waitFlags) application(ctx context.Context, hub *opened, ref view.Ref) (progress, error) {
	b, err := hub.Binding(ctx, ref)
	if err != nil {
		return progress{}, err
	}
	if b == nil {
		if f.until == untilDeleted {
			return progress{done: true, said: "no cluster has it any more"}, nil
		}
		// A missing object will not appear by itself.
		if _, err := hub.Template(ctx, ref); err != nil {
			return progress{}, err
		}
		return progress{said: "no policy has it yet; `hub explain` says why"}, nil
	}
	a, err := hub.Application(ctx, ref)
	if err != nil {
		return progress{}, err
	}
	p := progressOf(a, f.until)
	if p.done && f.until != untilScheduled {
		// The healthy state may be that of the previous version.
		behind, err := hub.Behind(ctx, ref)
		if err != nil {
			return progress{}, err
		}
		if behind != "" {
			return progress{said: behind}, nil
		}
	}
	return p, nil
}

// progressOf returns the progress of an application.
func progressOf(a *applications.Application, until string) progress {
	said := fmt.Sprintf("%s: %d of %d clusters ready, applied in %d, healthy in %d", a.State, a.Ready, a.Wanted, a.Applied, a.Healthy)
	if a.Stale > 0 {
		said += fmt.Sprintf(", %d not heard from", a.Stale)
	}
	if a.Why != "" {
		said += "; " + a.Why
	}
	p := progress{said: said}
	switch until {
	case untilScheduled:
		p.done = a.Wanted > 0
	case untilApplied:
		// A silent cluster that it left may keep its copy for weeks.
		p.done = a.Wanted > 0 && a.Applied == a.Wanted && (a.Leaving == 0 || a.State == applications.Healthy)
	case untilReady:
		p.done = a.State == applications.Healthy && a.Wanted > 0 && a.Ready == a.Wanted
	}
	return p
}

// cluster checks a cluster.
func (f *waitFlags) cluster(ctx context.Context, hub *opened, name string) (progress, error) {
	all, err := hub.Capacities(ctx)
	if err != nil {
		return progress{}, err
	}
	i := slices.IndexFunc(all, func(c clusters.Cluster) bool { return c.Name == name })
	if i < 0 {
		return progress{done: f.until == untilDeleted, said: "it has not joined"}, nil
	}
	said := string(all[i].State)
	if all[i].Why != "" {
		said += ": " + all[i].Why
	}
	return progress{done: f.until == untilReady && all[i].Ready == "True", said: said}, nil
}
