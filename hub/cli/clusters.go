package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/duration"

	"fairlead.dev/hub/cli/table"
	"fairlead.dev/hub/people/operate"
	"fairlead.dev/hub/people/pods"
	"fairlead.dev/hub/people/view/clusters"
)

// remarkWidth is how much is shown of remarks in a table.
const remarkWidth = 90

func newClusters(env Environment) *cobra.Command {
	var hub hubFlags
	var output outputFlag
	var unready bool
	cmd := &cobra.Command{
		Use:   "clusters",
		Short: "Show the clusters: how they are, what they have free, how their Works stand, and who asks to join",
		Long: "Show each cluster: how long ago its agent was heard from, the versions of its Kubernetes and of its agent, how much of\n" +
			"its nodes pods have asked for, how many of its Works are applied and how many it refuses, and until when its agent's\n" +
			"certificate holds. Where agents keep lines open, also since when each has one, and what its owner lets operators do.",
		Example: "  hub clusters\n  hub clusters --unready\n  hub clusters -o wide",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q; see `%s --help`", args[0], cmd.CommandPath())
			}
			if err := output.check(); err != nil {
				return err
			}
			o, err := hub.open(env)
			if err != nil {
				return err
			}
			return printClusters(cmd.Context(), env, o, &output, unready)
		},
	}
	hub.add(cmd.PersistentFlags())
	output.add(cmd)
	cmd.Flags().BoolVar(&unready, "unready", false, "leave out what is well")
	cmd.AddCommand(newClustersApprove(env, &hub), newClustersDescribe(env, &hub))
	return cmd
}

// fleetReport is the output of `hub clusters` for programs.
type fleetReport struct {
	items[clusters.Cluster]
	// Asking are the members that wait to be accepted.
	Asking []string `json:"asking,omitempty"`
	// Lines are the lines by which operators reach into clusters, by cluster; of a cluster that never had one there is none.
	Lines map[string]pods.Line `json:"lines,omitempty"`
	// Hidden says what may not be read.
	Hidden []string `json:"hidden,omitempty"`
}

// printClusters prints a line for each Cluster, and one for each member that waits to be
// accepted.
func printClusters(ctx context.Context, env Environment, hub *opened, output *outputFlag, unready bool) error {
	all, err := hub.Clusters(ctx)
	if err != nil {
		return err
	}
	waiting, err := operate.WaitingJoins(ctx, hub.client)
	if apierrors.IsForbidden(err) {
		all.Hidden = append(all.Hidden, "You may not read certificate requests: who asks to join is not shown.")
	} else if err != nil {
		return err
	}
	if output.text() {
		for _, hidden := range all.Hidden {
			say(env.Err, "%s", hidden)
		}
	}
	if len(all.Clusters)+len(waiting) == 0 && output.text() {
		say(env.Err, "There are no clusters; let one join with `hub token create --cluster NAME`")
		return nil
	}
	if unready {
		all.Clusters = slices.DeleteFunc(all.Clusters, func(c clusters.Cluster) bool { return c.State == clusters.Ready && len(c.Remarks) == 0 })
	}
	report := fleetReport{items: listOf(all.Clusters), Hidden: all.Hidden, Lines: hub.lines(ctx)}
	now := env.Clock.Now()
	t := clusterTable(all.Clusters, now)
	addLines(t, all.Clusters, report.Lines, now)
	asking := map[string]int{}
	for _, asked := range waiting {
		asking[asked.Cluster]++
	}
	for _, asked := range waiting {
		report.Asking = append(report.Asking, asked.Cluster)
		row := make([]table.Cell, len(t.Columns))
		row[0], row[1] = table.Cell{Text: asked.Cluster}, table.Cell{Text: "asks to join", Tone: table.Warn}
		command := "hub clusters approve " + asked.Cluster
		if asking[asked.Cluster] > 1 {
			command += " --request " + asked.CSR.Name
		}
		row[len(row)-1] = table.Cell{Text: fmt.Sprintf("accept it with `%s`", command)}
		t.Rows = append(t.Rows, row)
	}
	if output.text() && len(t.Rows) == 0 {
		if len(all.Hidden) > 0 {
			say(env.Err, "Nothing that you may read is wrong with any cluster")
		} else {
			say(env.Err, "All clusters are well")
		}
		return nil
	}
	return output.print(env, report, t)
}

func clusterTable(fleet []clusters.Cluster, now time.Time) *table.Table {
	t := &table.Table{Columns: []table.Column{
		{Name: "NAME"},
		{Name: "STATE"},
		{Name: "READY", Wide: true},
		{Name: "LAG"},
		{Name: "VERSION"},
		{Name: "AGENT"},
		{Name: "NODES", Wide: true},
		{Name: "CPU"},
		{Name: "MEMORY"},
		{Name: "PODS", Wide: true},
		{Name: "WORKS"},
		{Name: "FAILING"},
		{Name: "CERTIFICATE ENDS"},
		{Name: "JOINED"},
		{Name: "REGION", Wide: true},
		{Name: "PROVIDER", Wide: true},
		{Name: "REMARK", Cut: remarkWidth},
	}}
	for i := range fleet {
		c := &fleet[i]
		joined, certificate := "", ""
		if c.Joined != nil {
			joined = age(now.Sub(*c.Joined)) + " ago"
		}
		if c.Certificate != nil {
			certificate = ends(c.Certificate.Expires, now)
		}
		works, failing := works(c)
		t.Rows = append(t.Rows, []table.Cell{
			{Text: c.Name},
			{Text: string(c.State), Tone: toneOfCluster(c.State)},
			{Text: c.Ready},
			lag(c, now),
			{Text: c.Version},
			{Text: c.Agent},
			{Text: nodes(c)},
			used(c.CPU), used(c.Memory), used(c.Pods), works, failing,
			{Text: certificate},
			{Text: joined},
			{Text: c.Region},
			{Text: c.Provider},
			{Text: remark(c)},
		})
	}
	return t
}

// remark returns the most urgent problem of a cluster, for operators; empty if there is none.
func remark(c *clusters.Cluster) string {
	parts := slices.Clone(c.Remarks)
	if c.Why != "" {
		parts = append([]string{c.Why}, parts...)
	}
	return strings.Join(parts, " ")
}

// lag says how long ago the agent was heard from.
func lag(c *clusters.Cluster, now time.Time) table.Cell {
	if c.Heartbeat == nil {
		return table.Cell{}
	}
	tone := table.Plain
	if c.State == clusters.Silent {
		tone = table.Bad
	}
	return table.Cell{Text: age(max(now.Sub(*c.Heartbeat), 0)), Tone: tone}
}

// works says how many there are, applied of all, and how many are refused.
func works(c *clusters.Cluster) (all, failing table.Cell) {
	if c.Works == nil {
		return all, failing
	}
	all.Text, failing.Text = fmt.Sprintf("%d/%d", c.Works.Applied, c.Works.Total), strconv.Itoa(c.Works.Failing)
	if c.Works.Failing > 0 {
		failing.Tone = table.Bad
	}
	return all, failing
}

// age says for people how long something is.
func age(d time.Duration) string { return duration.HumanDuration(d) }
