package cli

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/hub/cli/table"
	"fairlead.dev/hub/machinery/apiserver"
	"fairlead.dev/hub/machinery/apiserver/authority"
)

// shownWaiting is how many agents an error lists.
const shownWaiting = 10

func newCA(env Environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ca",
		Short: "Exchange the certificate authority of a hub's own API, with all clusters joined, or bring it to another machine",
		Long: "Exchange the certificate authority of a hub's own API for a new one, on the machine of the hub. Agents trust both for\n" +
			"a while, so none of them is cut off or started again:\n\n" +
			"  hub ca begin    makes a new authority, which is trusted and signs nothing yet\n" +
			"  hub ca switch   lets the new one sign, once all agents have reported that they trust it\n" +
			"  hub ca finish   drops the old one, once all agents have certificates of the new one\n\n" +
			"Restart `hub serve` after each; of several machines on one etcd take each step on one, bring it to the others with\n" +
			"`hub ca export` and `hub ca import --replace`, and restart all of them. `hub ca status` says how far it is, and which clusters are waited for. Agents learn of\n" +
			"the new authority within minutes of the restart and get certificates of it within an hour or two.",
	}
	cmd.AddCommand(newCAStatus(env),
		newCAStep(env, authority.Begin, "Make a new authority, which is trusted and signs nothing yet"),
		newCAStep(env, authority.Switch, "Let the new authority sign, once all agents have reported that they trust it"),
		newCAStep(env, authority.Finish, "Drop the old authority, once all agents have certificates of the new one"),
		newCAExport(env), newCAImport(env))
	group(cmd)
	return cmd
}

func newCAStep(env Environment, step authority.Step, short string) *cobra.Command {
	var hub hubFlags
	var force bool
	cmd := &cobra.Command{
		Use: string(step), Short: short, Args: noArguments,
		Long: short + ". What is done already is left as it is.\nThe hub goes by it when `hub serve` is started again.",
		RunE: func(cmd *cobra.Command, _ []string) error { return takeStep(cmd.Context(), env, hub, step, force) },
	}
	hub.addLocal(env, cmd)
	if step != authority.Begin {
		cmd.Flags().BoolVar(&force, "force", false, "continue even if this cuts off agents, which come back only with `hub token create --rejoin`, or if the hub does not answer")
	}
	return cmd
}

func takeStep(ctx context.Context, env Environment, hub hubFlags, step authority.Step, force bool) (err error) {
	files, err := apiserver.OpenAuthorities(hub.dataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	before, err := files.Read()
	if err != nil {
		return err
	}
	in := authority.Input{Step: step, Bundle: before}
	d := authority.Decide(in)
	if !d.Done && d.Wrong == "" && step != authority.Begin {
		// Agents that would be cut off can be ignored by the operator; that the hub has yet to use the previous step's
		// authorities cannot.
		switch err := ask(ctx, env, hub, &in); {
		case err == nil:
			d = authority.Decide(in)
		case !force:
			return err
		}
	}
	switch {
	case d.Wrong != "":
		return errors.New(d.Wrong)
	case d.Done:
		if step == authority.Finish {
			err = files.DeleteUnusedKeys(before) // an earlier finish may have been interrupted before that
		}
		say(env.Out, "Nothing to do. %s", next(before, before))
		return err
	case len(d.Waiting) > 0 && !force:
		return waitingError(step, d.Waiting)
	}
	after, err := files.Take(step, before, env.Clock.Now())
	if err != nil {
		return err
	}
	switch step {
	case authority.Begin:
		say(env.Out, "Made %s beside %s.\nJoin commands that were printed before name the old one only: print them again after the restart.",
			apiserver.Describe(after.New()), apiserver.Describe(after.Old()))
	case authority.Switch:
		say(env.Out, "%s signs from the next start on. Copies of the administrator's kubeconfig from before `hub ca begin` do not trust it: copy it again after the restart.\n"+
			"Back the hub up then: once the old authority is dropped, no agent comes back to a hub that is restored from an earlier backup.", apiserver.Describe(after.Signs()))
	default:
		say(env.Out, "%s is not trusted any more. Copies of the administrator's kubeconfig from before the restart after `hub ca switch` no longer work.", apiserver.Describe(before.Old()))
	}
	say(env.Out, "%s", next(after, before))
	return nil
}

// ask reads from the running hub which authorities it and the agents use.
func ask(ctx context.Context, env Environment, hub hubFlags, in *authority.Input) error {
	hubClient, err := hub.connect(env)
	if err == nil {
		err = gather(ctx, hubClient, in)
	}
	if err != nil {
		return fmt.Errorf("the agents that would be cut off are not known: %w; start `hub serve`, or continue with --force", err)
	}
	return nil
}

func gather(ctx context.Context, hubClient client.Reader, in *authority.Input) (err error) {
	if in.Served, err = apiserver.ServedAuthorities(ctx, hubClient); err != nil {
		return err
	}
	in.Agents, err = apiserver.AgentAuthorities(ctx, hubClient)
	return err
}

func waitingError(step authority.Step, waiting []authority.Waiting) error {
	var names []string
	for i, w := range waiting {
		if i == shownWaiting {
			names = append(names, fmt.Sprintf("and %d more", len(waiting)-i))
			break
		}
		names = append(names, w.Cluster+": "+w.Why)
	}
	return fmt.Errorf("`hub ca %s` would cut off %d agents: wait for them, forget those that are gone, or cut them off with --force:\n  %s",
		step, len(waiting), strings.Join(names, "\n  "))
}

// next returns what to do next; served are the authorities of the running hub, or nil.
func next(b, served authority.Bundle) string {
	if served != nil && !slices.Equal(b.Encode(), served.Encode()) {
		return "Restart `hub serve` now, and check with `hub ca status`."
	}
	switch b.Phase() {
	case authority.Overlap:
		return "Once `hub ca status` shows no cluster that is waited for: `hub ca switch`."
	case authority.Switched:
		return "Once `hub ca status` shows no cluster that is waited for: `hub ca finish`."
	default:
		return "One certificate authority is trusted; `hub ca begin` begins to exchange it."
	}
}

func newCAStatus(env Environment) *cobra.Command {
	var hub hubFlags
	cmd := &cobra.Command{
		Use: "status", Short: "Show the authorities, how far their exchange is, and which clusters are waited for", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return caStatus(cmd.Context(), env, hub) },
	}
	hub.addLocal(env, cmd)
	return cmd
}

func caStatus(ctx context.Context, env Environment, hub hubFlags) (err error) {
	files, err := apiserver.OpenAuthorities(hub.dataDir)
	if err != nil {
		return err
	}
	bundle, err := files.Read()
	if err = errors.Join(err, files.Close()); err != nil {
		return err
	}
	in := authority.Input{Bundle: bundle}
	unknown := ask(ctx, env, hub, &in)
	say(env.Out, "Phase: %s. %s\n", bundle.Phase(), next(bundle, in.Served))
	if err := authorityTable(bundle).Write(env.Out, table.Options{Color: env.Color, Wide: true}); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	if unknown != nil {
		return fmt.Errorf("reading what the agents go by: %w", unknown)
	}
	say(env.Out, "")
	return agentTable(bundle, in.Agents).Write(env.Out, table.Options{Color: env.Color, Wide: true})
}

func authorityTable(bundle authority.Bundle) *table.Table {
	t := &table.Table{Columns: []table.Column{{Name: "AUTHORITY"}, {Name: "ROLE"}, {Name: "UNTIL"}, {Name: "HASH"}}}
	for i, cert := range bundle {
		role := "trusted"
		if i == 0 {
			role = "trusted, signs"
		}
		t.Rows = append(t.Rows, []table.Cell{
			{Text: cert.Subject.CommonName}, {Text: role}, {Text: cert.NotAfter.Format(time.DateOnly)}, {Text: authority.Hash(cert)},
		})
	}
	return t
}

// agentTable shows which authorities each agent uses, and what is missing.
func agentTable(bundle authority.Bundle, agents []authority.Agent) *table.Table {
	step := authority.Switch
	if bundle.Phase() == authority.Switched {
		step = authority.Finish
	}
	waited := map[string]string{}
	if bundle.Phase() != authority.Steady {
		for _, w := range authority.Decide(authority.Input{Step: step, Bundle: bundle, Agents: agents}).Waiting {
			waited[w.Cluster] = w.Why
		}
	}
	slices.SortFunc(agents, func(a, b authority.Agent) int { return cmp.Compare(a.Cluster, b.Cluster) })
	t := &table.Table{Columns: []table.Column{{Name: "CLUSTER"}, {Name: "TRUSTS"}, {Name: "CERTIFICATE OF"}, {Name: "WAITED FOR"}}}
	for _, agent := range agents {
		names := make([]string, 0, len(agent.Trusts))
		for _, hash := range agent.Trusts {
			names = append(names, nameOf(bundle, hash))
		}
		t.Rows = append(t.Rows, []table.Cell{
			{Text: agent.Cluster},
			{Text: strings.Join(names, ", ")},
			{Text: nameOf(bundle, agent.Issuer)},
			{Text: waited[agent.Cluster], Tone: table.Warn},
		})
	}
	return t
}

// nameOf returns the name of an authority, or its hash if it is unknown.
func nameOf(bundle authority.Bundle, hash string) string {
	i := slices.IndexFunc(bundle, func(cert *x509.Certificate) bool { return authority.Hash(cert) == hash })
	if i < 0 {
		return hash
	}
	return bundle[i].Subject.CommonName
}
