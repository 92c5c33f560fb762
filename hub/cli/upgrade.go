package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/cli/table"
	"fairlead.dev/hub/people/operate/agents"
)

// byHand is the command for upgrading an agent that runs as a process, for somebody in the member. It contains no text from the agent,
// since people paste it into a shell.
const byHand = "install -m 0755 ./agent \"$(readlink -f /proc/$(systemctl show -p MainPID --value fairlead-agent)/exe)\" && systemctl restart fairlead-agent"

func newUpgrade(env Environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "upgrade",
		Short: "Upgrade the agents of clusters from the hub",
		Long: "Have the agents of clusters run another image. An agent in a pod changes to it if the owner of its member allows that,\n" +
			"and goes back by itself if the hub receives no heartbeat of the new one in time. For agents that run as processes, the\n" +
			"command that their owners must run is printed.",
	}
	cmd.AddCommand(newUpgradeAgents(env), newUpgradeStatus(env))
	group(cmd)
	return cmd
}

// whichClusters selects clusters.
type whichClusters struct {
	selector string
	all      bool
}

func (f *whichClusters) add(cmd *cobra.Command, env Environment, hub *hubFlags) {
	cmd.Flags().StringVarP(&f.selector, "selector", "l", "", "clusters with these labels, such as region=eu")
	cmd.Flags().BoolVar(&f.all, "all", false, "all clusters")
	cmd.ValidArgsFunction = completing(env, hub, clusterNames)
}

// check returns an error unless there is exactly one selection, or none if it is optional.
func (f *whichClusters) check(cmd *cobra.Command, names []string, required bool) error {
	chosen := 0
	for _, is := range []bool{len(names) > 0, f.selector != "", f.all} {
		if is {
			chosen++
		}
	}
	if chosen > 1 || chosen == 0 && required {
		return fmt.Errorf("no clusters are given: name them, or use --selector or --all; see `%s --help`", cmd.CommandPath())
	}
	return nil
}

// of returns the selected clusters, without those that are being removed.
func (f *whichClusters) of(ctx context.Context, hub *opened, names []string) ([]*clusterv1alpha1.Cluster, error) {
	selector, err := labels.Parse(f.selector)
	if err != nil {
		return nil, fmt.Errorf("--selector: %w", err)
	}
	all, err := kube.Clusters(ctx, hub.client)
	if err != nil {
		return nil, err
	}
	left := sets.New(names...)
	var out []*clusterv1alpha1.Cluster
	for _, c := range all {
		named := left.Has(c.Name)
		left.Delete(c.Name)
		if c.DeletionTimestamp.IsZero() && (named || len(names) == 0 && selector.Matches(labels.Set(c.Labels))) {
			out = append(out, c)
		}
	}
	if len(left) > 0 {
		return nil, fmt.Errorf("there is no cluster %s on the hub; `hub clusters` lists them", strings.Join(sets.List(left), ", "))
	}
	return out, nil
}

func newUpgradeStatus(env Environment) *cobra.Command {
	var hub hubFlags
	var which whichClusters
	var output outputFlag
	cmd := &cobra.Command{
		Use:     "status [CLUSTER...]",
		Short:   "Show the status of agent upgrades",
		Example: "  hub upgrade status\n  hub upgrade status -l region=eu",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := output.check(); err != nil {
				return err
			}
			if err := which.check(cmd, args, false); err != nil {
				return err
			}
			o, err := hub.open(env)
			if err != nil {
				return err
			}
			found, err := which.of(cmd.Context(), o, args)
			if err != nil {
				return err
			}
			rows := upgradesOf(found)
			if len(rows) == 0 && output.text() {
				say(env.Err, "No agent upgrade is requested; `hub upgrade agents` requests one")
				return nil
			}
			return output.print(env, listOf(rows), upgradeTable(rows, env.Clock.Now()))
		},
	}
	hub.add(env, cmd)
	which.add(cmd, env, &hub)
	output.add(cmd)
	return cmd
}

// upgradeRow is the output for one cluster.
type upgradeRow struct {
	Cluster string                            `json:"cluster"`
	Wanted  string                            `json:"wanted"`
	Running string                            `json:"running,omitempty"`
	Phase   clusterv1alpha1.AgentUpgradePhase `json:"phase,omitempty"`
	Since   *time.Time                        `json:"since,omitempty"`
	Message string                            `json:"message,omitempty"`
}

// upgradesOf returns a row for each cluster with a wanted agent.
func upgradesOf(found []*clusterv1alpha1.Cluster) []upgradeRow {
	var out []upgradeRow
	for _, c := range found {
		wanted, report := c.Spec.Agent, c.Status.AgentUpgrade
		if wanted == nil {
			continue
		}
		row := upgradeRow{Cluster: c.Name, Wanted: wanted.Image}
		if report != nil {
			row.Running = report.Running
		}
		if report != nil && report.Image == wanted.Image && report.Attempt == wanted.Attempt {
			row.Phase, row.Message, row.Since = report.Phase, report.Message, &report.Time.Time
		}
		if row.Phase == clusterv1alpha1.AgentNotInPod {
			row.Message += ". There: " + byHand
		}
		out = append(out, row)
	}
	return out
}

func upgradeTable(rows []upgradeRow, now time.Time) *table.Table {
	t := &table.Table{Columns: []table.Column{{Name: "CLUSTER"}, {Name: "UPGRADE"}, {Name: "WANTED"}, {Name: "RUNNING"}, {Name: "SINCE"}, {Name: "REMARK", Cut: remarkWidth}}}
	for i := range rows {
		r := &rows[i]
		state, since := table.Cell{Text: string(r.Phase)}, ""
		switch r.Phase {
		case clusterv1alpha1.AgentUpgraded:
			state.Tone = table.Good
		case clusterv1alpha1.AgentRolledBack:
			state.Tone = table.Bad
		case clusterv1alpha1.AgentRefused, clusterv1alpha1.AgentNotInPod:
			state.Tone = table.Warn
		case clusterv1alpha1.AgentUpgrading:
		case "":
			state.Text = "asked"
		}
		if r.Since != nil {
			since = age(max(now.Sub(*r.Since), 0)) + " ago"
		}
		t.Rows = append(t.Rows, []table.Cell{{Text: r.Cluster}, state, {Text: r.Wanted}, {Text: r.Running}, {Text: since}, {Text: r.Message}})
	}
	return t
}

// countsOf summarizes the waves in a line.
func countsOf(waves []agents.Wave) string {
	var parts []string
	for _, w := range waves {
		counts := map[agents.State]int{}
		for _, m := range w.Members {
			counts[m.State]++
		}
		if len(w.Members) == 0 {
			continue
		}
		counted := []string{fmt.Sprintf("%s: %d of %d upgraded", w.Name, counts[agents.Upgraded], len(w.Members))}
		for _, other := range []struct {
			state agents.State
			said  string
		}{{agents.InFlight, "under way"}, {agents.Failed, "failed"}, {agents.Lost, "not heard since"}, {agents.ByHand, "by hand"}, {agents.Silent, "silent"}} {
			if n := counts[other.state]; n > 0 {
				counted = append(counted, fmt.Sprintf("%d %s", n, other.said))
			}
		}
		parts = append(parts, strings.Join(counted, ", "))
	}
	return strings.Join(parts, "; ")
}
