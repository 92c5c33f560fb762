package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/hub/people/pods"
)

// logFlags are the flags of `hub logs`.
type logFlags struct {
	reach      reachFlags
	options    pods.LogOptions
	tail       int64
	timestamps bool
	prefix     bool
}

// tailOfMany is how many lines of each container are printed by default; with --since or for a single pod, all are.
const tailOfMany = 10

func newLogs(env Environment) *cobra.Command {
	var f logFlags
	cmd := &cobra.Command{
		Use:   "logs KIND/NAME",
		Short: "Print the logs of an application from all of its clusters, side by side",
		Long: "Read the logs of the pods of an application in its clusters, over the lines that their agents keep open, with your own\n" +
			"rights, and print each line behind [CLUSTER/POD]. With --follow it goes on until you stop it: pods that come later are\n" +
			"followed too, and so are clusters to which the application comes, unless --cluster names those that are meant. A cluster\n" +
			"that drops is named, and taken up where it was left as soon as it is back.",
		Example: "  hub logs deployment/web -n shop -f\n  hub logs deployment/web -n shop --cluster edge-1 --since 1h\n  hub logs pod/web-7d9-x -n shop --cluster edge-1 --previous --prefix=false",
		Args:    cobra.MaximumNArgs(2),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), env, cmd, args) },
	}
	fs := cmd.Flags()
	f.reach.add(env, cmd)
	fs.StringVarP(&f.options.Container, "container", "c", "", "container of each pod (default: the one that its author marked, or else the first)")
	fs.BoolVar(&f.options.All, "all-containers", false, "all containers of each pod")
	fs.BoolVarP(&f.options.Follow, "follow", "f", false, "go on until stopped, with pods and clusters that come later too")
	fs.BoolVarP(&f.options.Previous, "previous", "p", false, "logs of the previous container instead of the one that runs")
	fs.Int64Var(&f.tail, "tail", tailOfMany, "how many of the last lines of each container; -1 for all, which is the default with --since or a single pod")
	fs.DurationVar(&f.options.Since, "since", 0, "only logs that are newer than this, such as 5m")
	fs.BoolVar(&f.timestamps, "timestamps", false, "print when each line was written")
	fs.BoolVar(&f.prefix, "prefix", true, "print where each line is from")
	return cmd
}

func (f *logFlags) run(ctx context.Context, env Environment, cmd *cobra.Command, args []string) error {
	switch {
	case f.options.All && f.options.Container != "":
		return errors.New("--all-containers and --container exclude each other")
	case f.options.Previous && f.options.Follow:
		return errors.New("--previous shows logs of a container that is gone: there is nothing to follow")
	case f.options.Since < 0:
		return errors.New("--since must be a positive duration, such as 5m")
	}
	r, err := f.reach.open(ctx, env, args)
	if err != nil {
		return err
	}
	all := !cmd.Flags().Changed("tail") && (f.options.Since > 0 || r.app.Kind == "Pod")
	if f.tail >= 0 && !all {
		f.options.Tail = &f.tail
	}
	out := env.asWritten()
	logs := pods.Logs{
		Members: r.Members, App: r.app, Options: f.options, Clock: env.Clock,
		Line:   func(line pods.LogLine) error { return f.print(out, line) },
		Say:    func(cluster, text string) { say(env.Err, "%s: %s", cluster, text) },
		Places: r.places,
	}
	failed, err := logs.Run(ctx, r.clusters)
	if err != nil {
		return fmt.Errorf("printing the logs: %w", err)
	}
	if failed == len(r.clusters) {
		return fmt.Errorf("none of the %d clusters of %s could be asked for its logs; `hub clusters` shows how they are", failed, r.ref)
	}
	return nil
}

func (f *logFlags) print(out io.Writer, line pods.LogLine) error {
	var text []byte
	if f.prefix {
		text = append(text, "["+line.Cluster+"/"+line.Pod...)
		if !line.Only || f.options.All {
			text = append(text, "/"+line.Container...)
		}
		text = append(text, "] "...)
	}
	if f.timestamps && !line.At.IsZero() {
		text = append(line.At.AppendFormat(text, time.RFC3339Nano), ' ')
	}
	text = append(append(text, line.Text...), '\n')
	_, err := out.Write(text)
	return err
}
