package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/hub/cli/table"
	"fairlead.dev/hub/people/view"
)

// eventFlags are the flags of `hub events`.
type eventFlags struct {
	hub       hubFlags
	output    outputFlag
	namespace namespaceFlags
	cluster   string
	warnings  bool
	since     time.Duration
}

func newEvents(env Environment) *cobra.Command {
	var f eventFlags
	cmd := &cobra.Command{
		Use:   "events [KIND/NAME]",
		Short: "Show the events of an application, of a cluster, or of all",
		Long: "Show events of a namespace, or with -A of all, the newest last: about an application the ones about its template, its\n" +
			"binding and its Works in all clusters; about a cluster also those of its agent's requests. Events are kept for an hour.",
		Example: "  hub events -A --warnings\n  hub events deployment/web -n shop\n  hub events --cluster edge-1 --since 10m",
		Args:    cobra.MaximumNArgs(2),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), env, args) },
	}
	fs := cmd.Flags()
	f.hub.add(env, cmd)
	f.output.add(cmd)
	f.namespace.add(env, cmd, &f.hub, "events")
	f.namespace.addAll(cmd)
	fs.StringVar(&f.cluster, "cluster", "", "only events about this cluster")
	fs.BoolVar(&f.warnings, "warnings", false, "only warnings")
	fs.DurationVar(&f.since, "since", 0, "only events of this last period, such as 10m (default: all)")
	cmd.ValidArgsFunction = completing(env, &f.hub, applicationNames(&f.namespace))
	completeFlag(cmd, "cluster", completing(env, &f.hub, clusterNames))
	return cmd
}

func (f *eventFlags) run(ctx context.Context, env Environment, args []string) error {
	if err := f.output.check(); err != nil {
		return err
	}
	if f.since < 0 {
		return fmt.Errorf("--since %s is not positive", f.since)
	}
	if f.namespace.name != "" && f.cluster != "" && len(args) == 0 {
		return errors.New("-n and --cluster go together for an application that is named only; a cluster's events are in several namespaces")
	}
	hub, err := f.hub.open(env)
	if err != nil {
		return err
	}
	events, err := f.read(ctx, hub, args)
	if err != nil {
		return err
	}
	now := env.Clock.Now()
	events = slices.DeleteFunc(events, func(e view.Event) bool {
		return (f.warnings && !e.Warning) || (f.cluster != "" && e.Cluster != f.cluster) || (f.since > 0 && now.Sub(e.At) > f.since)
	})
	if len(events) == 0 && f.output.text() {
		where := ""
		if scope := f.namespace.scope(hub); len(args) == 0 && f.cluster == "" && scope.Namespace != "" {
			where = fmt.Sprintf(" in namespace %s (`hub events -A` looks in all)", scope.Namespace)
		}
		say(env.Err, "No such events%s; events are kept for an hour", where)
		return nil
	}
	return f.output.print(env, listOf(events), eventTable(events, now))
}

func (f *eventFlags) read(ctx context.Context, hub *opened, args []string) ([]view.Event, error) {
	switch {
	case len(args) > 0:
		ref, err := hub.named(args, &f.namespace)
		if err != nil {
			return nil, err
		}
		return hub.EventsOf(ctx, ref)
	case f.cluster != "":
		return hub.EventsOfCluster(ctx, f.cluster)
	default:
		scope := f.namespace.scope(hub)
		events, err := hub.Events(ctx, scope)
		return events, inOne(scope, err)
	}
}

func eventTable(events []view.Event, now time.Time) *table.Table {
	t := &table.Table{Columns: []table.Column{
		{Name: "AGO"},
		{Name: "TYPE"},
		{Name: "CLUSTER"},
		{Name: "OBJECT"},
		{Name: "REASON"},
		{Name: "COUNT", Wide: true},
		{Name: "BY", Wide: true},
		{Name: "MESSAGE"},
	}}
	for _, e := range events {
		kind := table.Cell{Text: "Normal"}
		if e.Warning {
			kind = table.Cell{Text: "Warning", Tone: table.Warn}
		}
		t.Rows = append(t.Rows, []table.Cell{
			{Text: since(now, e.At)},
			kind,
			{Text: e.Cluster},
			{Text: e.Object.String()},
			{Text: e.Reason},
			{Text: fmt.Sprint(e.Count)},
			{Text: e.By},
			{Text: e.Message},
		})
	}
	return t
}
