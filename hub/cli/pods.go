package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/hub/cli/table"
	"fairlead.dev/hub/people/pods"
	"fairlead.dev/hub/people/pods/owned"
	"fairlead.dev/hub/people/view"
)

// reachFlags select an application and its clusters.
type reachFlags struct {
	hub       hubFlags
	namespace namespaceFlags
	clusters  []string
}

func (f *reachFlags) add(env Environment, cmd *cobra.Command) {
	fs := cmd.Flags()
	f.hub.add(env, cmd)
	f.namespace.add(env, cmd, &f.hub, "application")
	fs.StringSliceVar(&f.clusters, "cluster", nil, "look in these clusters only (default: all that have it)")
	cmd.ValidArgsFunction = completing(env, &f.hub, applicationNames(&f.namespace))
	completeFlag(cmd, "cluster", completing(env, &f.hub, clusterNames))
}

// reached is an application with access to its clusters.
type reached struct {
	*pods.Members
	app      pods.Application
	clusters []string
	ref      view.Ref
	// places returns the present clusters of the application; nil if the person named the clusters.
	places func(context.Context) ([]string, error)
}

// open finds the clusters of an application.
func (f *reachFlags) open(ctx context.Context, env Environment, args []string) (*reached, error) {
	hub, err := f.hub.open(env)
	if err != nil {
		return nil, err
	}
	ref, err := hub.named(args, &f.namespace)
	if err != nil {
		return nil, err
	}
	mapping, err := hub.mapper.RESTMapping(ref.GroupKind(), ref.Version)
	if err != nil {
		return nil, fmt.Errorf("looking up kind %q: %w", ref.Kind, err)
	}
	out := &reached{Members: hub.members, ref: ref, app: pods.Application{Resource: mapping.Resource, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}}
	if ref.Group == "" && ref.Kind == "Pod" && len(f.clusters) > 0 {
		out.clusters = f.clusters // a pod that a workload created there, which the hub does not know
		return out, nil
	}
	a, err := hub.Application(ctx, ref)
	if err != nil {
		if ref.Group == "" && ref.Kind == "Pod" {
			return nil, errors.New("name the cluster of the pod with --cluster; `hub pods` shows it")
		}
		return nil, err
	}
	all := a.Everywhere()
	for _, name := range f.clusters {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("%s is not in cluster %s; it is in %s", ref, name, cmp.Or(strings.Join(all, ", "), "none"))
		}
	}
	out.clusters, out.places = all, func(ctx context.Context) ([]string, error) {
		a, err := hub.Application(ctx, ref)
		if err != nil {
			return nil, err
		}
		return a.Everywhere(), nil
	}
	if len(f.clusters) > 0 {
		out.clusters, out.places = f.clusters, nil
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s is in no cluster; `hub explain` says why", ref)
	}
	return out, nil
}

// outputName is the value of -o for names only.
const outputName = "name"

func newPods(env Environment) *cobra.Command {
	var f reachFlags
	output := outputFlag{also: []string{outputName}}
	cmd := &cobra.Command{
		Use:   "pods KIND/NAME",
		Short: "Show the pods of an application in all of its clusters",
		Long: "Ask each cluster of an application for its pods, over the line that its agent keeps open, with your own rights. They are\n" +
			"found by their controllers, not by their labels. A cluster that does not answer is shown with the reason.",
		Example: "  hub pods deployment/web -n shop\n  hub pods deployment/web -n shop --cluster edge-1 -o wide",
		Args:    cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := output.check(); err != nil {
				return err
			}
			r, err := f.open(cmd.Context(), env, args)
			if err != nil {
				return err
			}
			found, err := r.Find(cmd.Context(), r.app, r.clusters)
			if err != nil {
				return err
			}
			if err := printPods(env, &output, found); err != nil {
				return err
			}
			return allFailed(r, found)
		},
	}
	f.add(env, cmd)
	output.add(cmd)
	return cmd
}

// allFailed returns an error if no cluster could be read.
func allFailed(r *reached, found []pods.Found) error {
	for i := range found {
		if found[i].Err() == nil {
			return nil
		}
	}
	return fmt.Errorf("none of the %d clusters of %s could be asked for its pods; `hub clusters` shows how they are", len(found), r.ref)
}

func printPods(env Environment, output *outputFlag, found []pods.Found) error {
	if output.format == outputName {
		for i := range found {
			for j := range found[i].Pods {
				say(env.Out, "%s/%s", found[i].Cluster, found[i].Pods[j].Name)
			}
			if found[i].Err() != nil {
				say(env.Err, "%s: %s", found[i].Cluster, found[i].Error)
			}
		}
		return nil
	}
	return output.print(env, listOf(found), podTable(found, env.Clock.Now()))
}

func podTable(found []pods.Found, now time.Time) *table.Table {
	t := &table.Table{Columns: []table.Column{
		{Name: "CLUSTER"},
		{Name: "POD"},
		{Name: "READY"},
		{Name: "STATE"},
		{Name: "RESTARTS"},
		{Name: "AGE"},
		{Name: "IP", Wide: true},
		{Name: "NODE", Wide: true},
		{Name: "WHY", Cut: whyWidth},
	}}
	const why = 8
	for i := range found {
		f := &found[i]
		for j := range f.Pods {
			t.Rows = append(t.Rows, podRow(f.Cluster, &f.Pods[j], now))
		}
		row := make([]table.Cell, len(t.Columns))
		row[0].Text = f.Cluster
		switch {
		case f.Err() != nil:
			row[3], row[why] = table.Cell{Text: wordOf(f.Reason), Tone: table.Bad}, table.Cell{Text: f.Error}
		case len(f.Pods) == 0:
			row[why].Text = "it has no pods of it"
		case f.More:
			row[why].Text = "it has more pods than are shown"
		default:
			continue
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func podRow(cluster string, p *owned.Pod, now time.Time) []table.Cell {
	tone := table.Warn
	if p.Whole {
		tone = table.Good
	}
	return []table.Cell{
		{Text: cluster},
		{Text: p.Name},
		{Text: fmt.Sprintf("%d/%d", p.Ready, p.Main())},
		{Text: p.State, Tone: tone},
		{Text: strconv.Itoa(int(p.Restarts))},
		{Text: since(now, p.Created)},
		{Text: p.IP},
		{Text: p.Node},
	}
}

// wordOf returns in a word why a cluster's pods could not be read.
func wordOf(reason metav1.StatusReason) string {
	switch reason {
	case metav1.StatusReasonForbidden, metav1.StatusReasonUnauthorized:
		return "Forbidden"
	case metav1.StatusReasonNotFound:
		return "NotThere"
	case metav1.StatusReasonServiceUnavailable, metav1.StatusReasonTimeout:
		return "Unreachable"
	default:
		return "Unknown"
	}
}
