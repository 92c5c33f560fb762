package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/version"
	"fairlead.dev/hub/people/operate"
	"fairlead.dev/hub/people/operate/agents"
)

// upgradeFlags are the flags of `hub upgrade agents`.
type upgradeFlags struct {
	hub      hubFlags
	which    whichClusters
	image    string
	version  string
	strategy string
	batch    string
	within   time.Duration
	timeout  time.Duration
	approve  []string
	retry    bool
	dryRun   bool
}

func newUpgradeAgents(env Environment) *cobra.Command {
	var f upgradeFlags
	cmd := &cobra.Command{
		Use:   "agents [CLUSTER... | -l SELECTOR | --all]",
		Short: "Upgrade the agents of clusters, in waves",
		Long: "Upgrade the agents of clusters in the waves of a RolloutStrategy, without one: one cluster, a tenth, the rest, each looked\n" +
			"at for a minute. A wave begins once the one before is upgraded and heard; when more of its clusters go back, or fall silent\n" +
			"after they were upgraded, than it allows, nobody else is asked.\n" +
			"Clusters that are silent are asked at the end, and upgrade when they are back. All that is done stands on the Clusters:\n" +
			"the same command goes on where one was stopped. Ends with status 2 if the upgrade stopped, 3 if time ran out.\n" +
			"A hub that is away for a moment is asked again.",
		Example: "  hub upgrade agents --all --image registry.example/fairlead/agent:v1.3.0\n" +
			"  hub upgrade agents -l region=eu --strategy careful --dry-run\n  hub upgrade agents edge-1 --retry",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd, args); err != nil {
				return err
			}
			return f.run(cmd.Context(), env, args)
		},
	}
	flags := cmd.Flags()
	f.hub.add(env, cmd)
	f.which.add(cmd, env, &f.hub)
	build := version.Of()
	flags.StringVar(&f.image, "image", "docker.io/fairlead/agent:"+build.ImageTag, "image of the agent")
	flags.StringVar(&f.version, "version", "", "what `agent version` of it says, for agents that run as processes (default: the tag of --image)")
	flags.StringVar(&f.strategy, "strategy", "", "RolloutStrategy by whose waves to go")
	completeFlag(cmd, "strategy", completing(env, &f.hub, strategyNames))
	flags.StringVar(&f.batch, "batch", "", "instead of waves, upgrade at most so many at once, a number or a percentage, and stop at the first that goes back or falls silent")
	flags.DurationVar(&f.within, "report-within", 5*time.Minute, "how long a new agent may take until the hub hears it and it has run for 30s, or for half of this if that is less; then its member goes back")
	flags.DurationVar(&f.timeout, "timeout", time.Hour, "how long to go on; afterwards the same command does")
	flags.StringSliceVar(&f.approve, "approve", nil, "waves of --strategy to let pass that ask for an approval")
	flags.BoolVar(&f.retry, "retry", false, "ask those again that went back, refused or are not heard since they were upgraded")
	flags.BoolVar(&f.dryRun, "dry-run", false, "say what would be asked first, and ask nothing")
	return cmd
}

func (f *upgradeFlags) check(cmd *cobra.Command, names []string) error {
	switch {
	case f.strategy != "" && f.batch != "":
		return errors.New("--strategy and --batch are two ways to go; name one")
	case len(f.approve) > 0 && f.strategy == "":
		return errors.New("--approve is for waves of a strategy that ask for an approval, and without --strategy none does; leave it out, or name the strategy")
	case f.image == "":
		return errors.New("--image is empty; name the image of the agent")
	case f.within < time.Second || f.within > 24*time.Hour:
		return fmt.Errorf("--report-within is %s; it is between 1s and 24h", f.within)
	case f.batch != "":
		size := intstr.Parse(f.batch)
		if n, err := intstr.GetScaledValueFromIntOrPercent(&size, 100, true); err != nil || n < 1 {
			return fmt.Errorf("--batch is %q; it is a number of at least 1, or a percentage", f.batch)
		}
	}
	return f.which.check(cmd, names, true)
}

// waves returns the strategy.
func (f *upgradeFlags) waves(ctx context.Context, hub *opened) (fairleadv1alpha1.RolloutStrategySpec, error) {
	switch {
	case f.batch != "":
		size := intstr.Parse(f.batch)
		return fairleadv1alpha1.RolloutStrategySpec{Waves: []fairleadv1alpha1.Wave{{Name: "all", MaxConcurrent: &size}}}, nil
	case f.strategy == "":
		return agents.DefaultStrategy(), nil
	}
	strategy := &fairleadv1alpha1.RolloutStrategy{}
	err := hub.client.Get(ctx, client.ObjectKey{Name: f.strategy}, strategy)
	switch {
	case apierrors.IsNotFound(err):
		return strategy.Spec, fmt.Errorf("the hub has no RolloutStrategy %q; see `kubectl get rolloutstrategies`", f.strategy)
	case err != nil:
		return strategy.Spec, fmt.Errorf("reading RolloutStrategy %q: %w", f.strategy, err)
	}
	names := make([]string, 0, len(strategy.Spec.Waves))
	for i := range strategy.Spec.Waves {
		names = append(names, strategy.Spec.Waves[i].Name)
	}
	for _, name := range f.approve {
		if !slices.Contains(names, name) {
			return strategy.Spec, fmt.Errorf("--approve is %q, and RolloutStrategy %q has no such wave; it has %s", name, f.strategy, strings.Join(names, ", "))
		}
	}
	return strategy.Spec, nil
}

func (f *upgradeFlags) run(ctx context.Context, env Environment, names []string) error {
	hub, err := f.hub.open(env)
	if err != nil {
		return err
	}
	in := agents.Input{
		Wanted:   clusterv1alpha1.WantedAgent{Image: f.image, Version: f.version, ReportWithin: &metav1.Duration{Duration: f.within}},
		Approved: sets.New(f.approve...), Retry: sets.New[string](), Asked: map[string]time.Time{}, Seen: map[string]time.Time{}, Back: map[string]time.Time{},
	}
	if in.Strategy, err = f.waves(ctx, hub); err != nil {
		return err
	}
	u := upgradeRun{upgradeFlags: f, env: env, hub: hub, names: names, in: in, begin: env.Clock.Now()}
	hubAway := outage{env: env, ends: u.begin.Add(f.timeout)}
	for first := true; ; first = false {
		d, err := u.step(ctx, first)
		again, err := hubAway.again(err)
		switch {
		case err != nil:
			return err
		case again:
		case f.dryRun:
			f.plan(env, d)
			return nil
		case d.Done:
			return f.conclude(env, d)
		case d.Stopped != "":
			return &statusError{ExitNo, "the upgrade stopped: " + d.Stopped}
		case u.in.Now.Sub(u.begin) >= f.timeout:
			return &statusError{ExitTimeout, fmt.Sprintf("not done after %s: %s; the same command goes on", f.timeout, u.said)}
		}
		select {
		case <-ctx.Done():
			return errors.New("told to stop; what was asked goes on, and the same command goes on with the rest")
		case <-env.Clock.After(lookEvery):
		}
	}
}

// upgradeRun is one run of the command.
type upgradeRun struct {
	*upgradeFlags
	env   Environment
	hub   *opened
	names []string
	in    agents.Input
	begin time.Time
	// said is the last printed progress.
	said string
}

// step reads the state, prints changes, and asks the clusters whose turn it is. It can be repeated after any failure.
func (u *upgradeRun) step(ctx context.Context, first bool) (agents.Decision, error) {
	var err error
	if u.in.Clusters, err = u.which.of(ctx, u.hub, u.names); err != nil {
		return agents.Decision{}, err
	}
	if len(u.in.Clusters) == 0 {
		return agents.Decision{}, errors.New("there is no such cluster; `hub clusters` shows those that there are")
	}
	u.in.Now = u.env.Clock.Now()
	d := agents.Decide(u.in)
	if first && u.retry {
		u.in.Retry = d.Unsuccessful()
		d = agents.Decide(u.in)
	}
	if u.dryRun {
		return d, nil
	}
	now := countsOf(d.Waves)
	if d.Soaking != "" {
		now += fmt.Sprintf("; wave %s soaks until %s", d.Soaking, d.Until.UTC().Format(time.RFC3339))
	}
	if now != u.said {
		u.said = now
		say(u.env.Err, "%4s  %s", u.in.Now.Sub(u.begin).Round(time.Second), u.said)
	}
	remember(&u.in, d)
	return d, askAll(ctx, u.hub, &u.in, d.Ask)
}

// remember records when clusters were first seen in flight, and when they were first seen upgraded.
func remember(in *agents.Input, d agents.Decision) {
	for _, w := range d.Waves {
		for _, m := range w.Members {
			switch _, known := in.Asked[m.Name]; {
			case m.Ends != "":
				delete(in.Asked, m.Name) // it has not started with this upgrade
			case !known && m.State == agents.InFlight:
				in.Asked[m.Name] = in.Now
			}
			if m.State == agents.Lost {
				in.Back[m.Name] = in.Now // updated until it is heard again
			}
			if _, known := in.Seen[m.Name]; !known && m.State == agents.Upgraded {
				in.Seen[m.Name] = in.Now
			}
		}
	}
}

// askAll requests the wanted agent in clusters.
func askAll(ctx context.Context, hub *opened, in *agents.Input, names []string) error {
	wanted := in.Wanted
	wanted.Attempt = in.Now.Unix()
	for _, name := range names {
		if _, err := operate.UpgradeAgent(ctx, hub.client, name, wanted, in.Retry.Has(name), contract.FieldManagerCLI); err != nil {
			return err
		}
		in.Retry.Delete(name)
		delete(in.Asked, name)
		delete(in.Seen, name)
		delete(in.Back, name)
	}
	return nil
}

// plan prints what would be done.
func (f *upgradeFlags) plan(env Environment, d agents.Decision) {
	for _, w := range d.Waves {
		for _, m := range w.Members {
			say(env.Out, "wave %s: %s (%s)", w.Name, m.Name, m.State)
		}
	}
	for _, name := range d.Ask {
		say(env.Out, "%s would be asked to run %s now", name, f.image)
	}
	if d.Stopped != "" {
		say(env.Out, "nobody would be asked: %s", d.Stopped)
	}
}

// conclude prints what is left for people to do, once every possible cluster was asked.
func (f *upgradeFlags) conclude(env Environment, d agents.Decision) error {
	hands, failed, lost := false, 0, 0
	for _, w := range d.Waves {
		for _, m := range w.Members {
			switch m.State {
			case agents.ByHand:
				hands = true
				say(env.Out, "cluster %s is upgraded by its owner: %s", m.Name, m.Message)
			case agents.Silent:
				say(env.Out, "cluster %s is silent, and upgrades when it is back", m.Name)
			case agents.Failed:
				failed++
				say(env.Out, "cluster %s was not upgraded: %s", m.Name, m.Message)
			case agents.Lost:
				lost++
				say(env.Out, "cluster %s: %s", m.Name, m.Message)
			case agents.Held, agents.InFlight, agents.Upgraded:
			}
		}
	}
	if hands {
		say(env.Out, "Where the agent runs as a process, with the new program in the current folder:\n  %s", byHand)
	}
	switch {
	case failed > 0 && lost > 0:
		return &statusError{ExitNo, fmt.Sprintf("%d agents were not upgraded, and %d are not heard since they were", failed, lost)}
	case failed > 0:
		return &statusError{ExitNo, fmt.Sprintf("%d agents were not upgraded", failed)}
	case lost > 0:
		return &statusError{ExitNo, fmt.Sprintf("%d agents are not heard since they were upgraded", lost)}
	}
	return nil
}
