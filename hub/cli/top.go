package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"k8s.io/apimachinery/pkg/api/resource"

	"fairlead.dev/hub/cli/table"
	"fairlead.dev/hub/people/view/clusters"
)

// The percentages at which a resource is marked as short.
const (
	almostFull = 75
	full       = 90
)

func newTop(env Environment) *cobra.Command {
	var hub hubFlags
	var output outputFlag
	sort := "cpu"
	cmd := &cobra.Command{
		Use:   "top [CLUSTER...]",
		Short: "Show the free resources of clusters, the fullest first",
		Long: "Show of each cluster how much of its nodes the pods have asked for, and what is free. Pods without a node count as\n" +
			"pending: what they ask for is not free.",
		Example: "  hub top\n  hub top --sort memory\n  hub top edge-1 -o wide",
		RunE: func(cmd *cobra.Command, args []string) error {
			return printTop(cmd.Context(), env, &hub, &output, sort, args)
		},
	}
	hub.add(env, cmd)
	output.add(cmd)
	by := []string{"cpu", "memory", "pods", "name"}
	cmd.Flags().StringVar(&sort, "sort", sort, "sort by cpu, memory, pods or name")
	complete(cmd, "sort", by)
	cmd.ValidArgsFunction = completing(env, &hub, clusterNames)
	return cmd
}

func printTop(ctx context.Context, env Environment, hub *hubFlags, output *outputFlag, sort string, names []string) error {
	if err := output.check(); err != nil {
		return err
	}
	order, err := fullest(sort)
	if err != nil {
		return err
	}
	o, err := hub.open(env)
	if err != nil {
		return err
	}
	all, err := o.Capacities(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(c clusters.Cluster) bool { return c.Name == name }) {
			return fmt.Errorf("there is no cluster %s on the hub; `hub clusters` lists them", name)
		}
	}
	all = slices.DeleteFunc(all, func(c clusters.Cluster) bool { return len(names) > 0 && !slices.Contains(names, c.Name) })
	if len(all) == 0 && output.text() {
		say(env.Err, "There are no clusters; let one join with `hub token create --cluster NAME`")
		return nil
	}
	slices.SortFunc(all, order)
	return output.print(env, listOf(all), topTable(all))
}

// fullest returns a comparison of clusters by their usage of a resource.
func fullest(by string) (func(a, b clusters.Cluster) int, error) {
	var of func(c clusters.Cluster) *clusters.Usage
	switch by {
	case "cpu":
		of = func(c clusters.Cluster) *clusters.Usage { return c.CPU }
	case "memory":
		of = func(c clusters.Cluster) *clusters.Usage { return c.Memory }
	case "pods":
		of = func(c clusters.Cluster) *clusters.Usage { return c.Pods }
	case "name":
		of = func(clusters.Cluster) *clusters.Usage { return nil }
	default:
		return nil, fmt.Errorf("--sort %q is none of cpu, memory, pods and name", by)
	}
	percent := func(c clusters.Cluster) int {
		if u := of(c); u != nil {
			return u.Percent()
		}
		return -1
	}
	return func(a, b clusters.Cluster) int {
		return cmp.Or(-cmp.Compare(percent(a), percent(b)), cmp.Compare(a.Name, b.Name))
	}, nil
}

func topTable(fleet []clusters.Cluster) *table.Table {
	t := &table.Table{Columns: []table.Column{
		{Name: "CLUSTER"},
		{Name: "STATE"},
		{Name: "NODES"},
		{Name: "CPU"},
		{Name: "CPU FREE"},
		{Name: "CPU PENDING", Wide: true},
		{Name: "MEMORY"},
		{Name: "MEMORY FREE"},
		{Name: "MEMORY PENDING", Wide: true},
		{Name: "PODS"},
		{Name: "PODS FREE"},
		{Name: "PODS PENDING", Wide: true},
	}}
	for i := range fleet {
		c := &fleet[i]
		row := []table.Cell{{Text: c.Name}, {Text: string(c.State), Tone: toneOfCluster(c.State)}, {Text: nodes(c)}}
		for _, u := range []*clusters.Usage{c.CPU, c.Memory, c.Pods} {
			row = append(row, used(u), free(u), pending(u))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func nodes(c *clusters.Cluster) string {
	if c.Nodes == nil {
		return ""
	}
	return fmt.Sprintf("%d/%d", c.Nodes.Ready, c.Nodes.Total)
}

// used formats the usage of a resource: 3.5/8 (44%).
func used(u *clusters.Usage) table.Cell {
	if u == nil {
		return table.Cell{}
	}
	tone := table.Plain
	switch p := u.Percent(); {
	case p >= full:
		tone = table.Bad
	case p >= almostFull:
		tone = table.Warn
	}
	return table.Cell{Text: fmt.Sprintf("%s/%s (%d%%)", readable(u.Used), readable(u.Total), u.Percent()), Tone: tone}
}

func free(u *clusters.Usage) table.Cell {
	if u == nil {
		return table.Cell{}
	}
	return table.Cell{Text: readable(u.Free)}
}

func pending(u *clusters.Usage) table.Cell {
	if u == nil || u.Pending.IsZero() {
		return table.Cell{}
	}
	return table.Cell{Text: readable(u.Pending), Tone: table.Warn}
}

// readable formats an amount for people: large ones in Gi or Mi.
func readable(q resource.Quantity) string {
	const mebi, gibi = 1 << 20, 1 << 30
	switch v := q.Value(); {
	case v >= 10*gibi:
		return fmt.Sprintf("%dGi", v/gibi)
	case v >= mebi:
		return fmt.Sprintf("%dMi", v/mebi)
	default:
		return q.String()
	}
}
