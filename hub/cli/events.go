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

// eventFlags say which events to show and how.
type eventFlags struct {
	hub       hubFlags
	output    outputFlag
	namespace string
	cluster   string
	warnings  bool
	since     time.Duration
}

func newEvents(env Environment) *cobra.Command {
	var f eventFlags
	cmd := &cobra.Command{
		Use:   "events [KIND/NAME]",
		Short: "Tell what happened, to an application, to a cluster, or at all",
		Long: "Show events, the newest last: about an application the ones about its template, its binding and its Works in all\n" +
			"clusters; about a cluster also those of its agent's requests. Events are kept for an hour.",
		Example: "  hub events --warnings\n  hub events deployment/web -n shop\n  hub events --cluster edge-1 --since 10m",
		Args:    cobra.MaximumNArgs(2),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), env, args) },
	}
	fs := cmd.Flags()
	f.hub.add(fs)
	f.output.add(cmd)
	fs.StringVarP(&f.namespace, "namespace", "n", "", "namespace (default: all of them; of an application that is named, default)")
	fs.StringVar(&f.cluster, "cluster", "", "only what is about this cluster")
	fs.BoolVar(&f.warnings, "warnings", false, "only what somebody should look at")
	fs.DurationVar(&f.since, "since", 0, "only what happened in this time (default: all)")
	cmd.ValidArgsFunction = completing(env, &f.hub, applicationNames(&f.namespace))
	if err := cmd.RegisterFlagCompletionFunc("cluster", completing(env, &f.hub, clusterNames)); err != nil {
		panic(err) // the flag is the one above
	}
	return cmd
}

func (f *eventFlags) run(ctx context.Context, env Environment, args []string) error {
	if err := f.output.check(); err != nil {
		return err
	}
	if f.since < 0 {
		return fmt.Errorf("--since %s is not positive", f.since)
	}
	if f.namespace != "" && f.cluster != "" && len(args) == 0 {
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
		say(env.Err, "Nothing of that kind happened; events are kept for an hour")
		return nil
	}
	return f.output.print(env, listOf(events), eventTable(events, now))
}

func (f *eventFlags) read(ctx context.Context, hub *opened, args []string) ([]view.Event, error) {
	switch {
	case len(args) > 0:
		ref, err := hub.named(args, f.namespace)
		if err != nil {
			return nil, err
		}
		return hub.EventsOf(ctx, ref)
	case f.cluster != "":
		return hub.EventsOfCluster(ctx, f.cluster)
	default:
		events, err := hub.Events(ctx, scopeOf(f.namespace))
		return events, inOne(f.namespace, err)
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
