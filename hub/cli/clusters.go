package cli

import (
	"context"
	"fmt"
	"maps"
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

// remarkWidth is how much of a remark a table shows.
const remarkWidth = 90

func newClusters(env Environment) *cobra.Command {
	var hub hubFlags
	var output outputFlag
	var unready bool
	cmd := &cobra.Command{
		Use:   "clusters [NAME...]",
		Short: "Show the clusters: their status, free resources and Works, and which clusters ask to join",
		Long: "Show each cluster: how long ago its agent was heard from, the versions of its Kubernetes and of its agent, how much of\n" +
			"its nodes pods have asked for, how many of its Works are applied and how many it refuses, and until when its agent's\n" +
			"certificate holds. Where agents keep lines open, also since when each has one, and what its owner lets operators do.",
		Example: "  hub clusters\n  hub clusters edge-1 edge-2\n  hub clusters --unready\n  hub clusters -o wide",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := output.check(); err != nil {
				return err
			}
			o, err := hub.open(env)
			if err != nil {
				return err
			}
			return printClusters(cmd.Context(), env, o, &output, clusterFilter{args, unready})
		},
	}
	hub.addPersistent(env, cmd)
	output.add(cmd)
	cmd.Flags().BoolVar(&unready, "unready", false, "leave out what is healthy")
	cmd.ValidArgsFunction = completing(env, &hub, clusterNames)
	cmd.AddCommand(newClustersApprove(env, &hub), newClustersDescribe(env, &hub))
	return cmd
}

// fleetReport is the output of `hub clusters` for programs.
type fleetReport struct {
	items[clusters.Cluster]
	// Asking are the members that wait for an operator.
	Asking []string `json:"asking,omitempty"`
	// Lines are the lines through which operators reach clusters, by cluster. Clusters that never had one are missing.
	Lines map[string]pods.Line `json:"lines,omitempty"`
	// Hidden says what the person may not read.
	Hidden []string `json:"hidden,omitempty"`
}

// clusterFilter selects the clusters to show.
type clusterFilter struct {
	// names are the selected clusters; empty means all.
	names []string
	// unready omits clusters that are well.
	unready bool
}

// named returns the clusters and joins with the selected names. A name that is neither is an error.
func (f clusterFilter) named(found []clusters.Cluster, waiting []operate.Request) ([]clusters.Cluster, []operate.Request, error) {
	if len(f.names) == 0 {
		return found, waiting, nil
	}
	for _, name := range f.names {
		if !slices.ContainsFunc(found, func(c clusters.Cluster) bool { return c.Name == name }) &&
			!slices.ContainsFunc(waiting, func(r operate.Request) bool { return r.Cluster == name }) {
			return nil, nil, fmt.Errorf("there is no cluster %s on the hub, and no command of that name; `hub clusters` lists the clusters, and `hub clusters --help` the commands", name)
		}
	}
	return slices.DeleteFunc(found, func(c clusters.Cluster) bool { return !slices.Contains(f.names, c.Name) }),
		slices.DeleteFunc(waiting, func(r operate.Request) bool { return !slices.Contains(f.names, r.Cluster) }), nil
}

// printClusters prints a line for each Cluster, and for each member that waits for an operator.
func printClusters(ctx context.Context, env Environment, hub *opened, output *outputFlag, which clusterFilter) error {
	all, err := hub.Clusters(ctx)
	if err != nil {
		return err
	}
	waiting, err := operate.WaitingJoins(ctx, hub.client)
	if apierrors.IsForbidden(err) {
		all.Hidden = append(all.Hidden, "You may not read certificate requests: clusters that ask to join are not shown.")
	} else if err != nil {
		return err
	}
	if output.text() {
		for _, hidden := range all.Hidden {
			say(env.Err, "%s", hidden)
		}
	}
	if len(all.Clusters)+len(waiting)+len(which.names) == 0 && output.text() {
		say(env.Err, "There are no clusters; let one join with `hub token create --cluster NAME`")
		return nil
	}
	if all.Clusters, waiting, err = which.named(all.Clusters, waiting); err != nil {
		return err
	}
	if which.unready {
		all.Clusters = slices.DeleteFunc(all.Clusters, func(c clusters.Cluster) bool { return c.State == clusters.Ready && len(c.Remarks) == 0 })
	}
	report := fleetReport{items: listOf(all.Clusters), Hidden: all.Hidden, Lines: hub.lines(ctx)}
	maps.DeleteFunc(report.Lines, func(name string, _ pods.Line) bool {
		return len(which.names) > 0 && !slices.Contains(which.names, name)
	})
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
			say(env.Err, "All clusters are healthy as far as you may read")
		} else {
			say(env.Err, "All clusters are healthy")
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

// lag returns the age of the agent's last heartbeat.
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

// works returns how many Works are applied out of all, and how many are refused.
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

// age formats a duration for people.
func age(d time.Duration) string { return duration.HumanDuration(d) }
