package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"k8s.io/client-go/tools/remotecommand"

	"fairlead.dev/hub/people/pods"
)

// execFlags are the flags of `hub exec`.
type execFlags struct {
	reach      reachFlags
	container  string
	input, tty bool
	quiet      bool
}

func newExec(env Environment) *cobra.Command {
	var f execFlags
	cmd := &cobra.Command{
		Use:   "exec KIND/NAME -- COMMAND [ARGUMENT...]",
		Short: "Run a command in one pod of an application",
		Long: "Run a command in the first pod of an application that is ready, in the first of its clusters that has one, or in the pod\n" +
			"that is named, over the line that the agent there keeps open, with your own rights. It ends with the status of the command.",
		Example: "  hub exec deployment/web -n shop --cluster edge-1 -it -- sh\n  hub exec pod/web-7d9-x -n shop --cluster edge-1 -- cat /etc/hostname",
		Args: func(cmd *cobra.Command, args []string) error {
			if at := cmd.ArgsLenAtDash(); at < 1 || at > 2 || at == len(args) {
				return errors.New("name the application and then, after --, the command, such as `hub exec deployment/web -- date`")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			at := cmd.ArgsLenAtDash()
			return f.run(cmd.Context(), env, args[:at], args[at:])
		},
	}
	fs := cmd.Flags()
	f.reach.add(env, cmd)
	fs.StringVarP(&f.container, "container", "c", "", "container of the pod (default: the one that its author marked, or else the first)")
	fs.BoolVarP(&f.input, "stdin", "i", false, "pass standard input to the command")
	fs.BoolVarP(&f.tty, "tty", "t", false, "give the command a terminal")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "do not print in which pod it runs")
	return cmd
}

func (f *execFlags) run(ctx context.Context, env Environment, args, words []string) error {
	r, err := f.reach.open(ctx, env, args)
	if err != nil {
		return err
	}
	found, err := r.Find(ctx, r.app, r.clusters)
	if err != nil {
		return err
	}
	cluster, pod := pods.ChoosePod(found, f.container)
	if pod == nil {
		return f.none(r, found)
	}
	c := pods.Command{
		Cluster: cluster, Namespace: pod.Namespace, Pod: pod.Name, Container: f.container, Words: words,
		Out: env.exact, Err: env.Err,
	}
	if c.Container == "" {
		c.Container = pod.Default
	}
	if !f.quiet && r.app.Kind != "Pod" {
		say(env.Err, "Running in %s/%s, container %s", cluster, pod.Name, c.Container)
	}
	if f.input {
		c.In = env.In
	}
	if f.tty {
		back, err := f.terminal(env, &c)
		if err != nil {
			return err
		}
		defer back()
	}
	err = r.Exec(ctx, c)
	if status, ended := pods.ExitStatus(err); ended {
		return &statusError{status, fmt.Sprintf("the command ended with status %d", status)}
	}
	if err != nil {
		return fmt.Errorf("running the command in %s/%s: %w", cluster, pod.Name, err)
	}
	return nil
}

// none says why there is no pod for the command.
func (f *execFlags) none(r *reached, found []pods.Found) error {
	var why []string
	for i := range found {
		switch {
		case found[i].Err() != nil:
			why = append(why, found[i].Cluster+": "+found[i].Error)
		case len(found[i].Pods) == 0:
			why = append(why, found[i].Cluster+": it has no pods of it")
		case f.container != "":
			why = append(why, fmt.Sprintf("%s: no container %q of it runs", found[i].Cluster, f.container))
		default:
			why = append(why, found[i].Cluster+": none of its pods runs")
		}
	}
	const most = 5
	if len(why) > most {
		why = append(why[:most], fmt.Sprintf("and %d more clusters", len(found)-most))
	}
	return fmt.Errorf("%s has no pod to run a command in; %s", r.ref, strings.Join(why, "; "))
}

// terminal connects the command to the user's terminal, and returns a function that restores the terminal.
func (f *execFlags) terminal(env Environment, c *pods.Command) (back func(), err error) {
	in, ok := env.In.(*os.File)
	if !ok || !f.input || !term.IsTerminal(int(in.Fd())) {
		say(env.Err, "There is no terminal here, so the command gets none")
		return func() {}, nil
	}
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, fmt.Errorf("preparing the terminal: %w", err)
	}
	sizes := followSize(in)
	c.TTY, c.Sizes = true, sizes
	return func() {
		sizes.end()
		_ = term.Restore(int(in.Fd()), before) // the terminal may be gone
	}, nil
}

// terminalSizes returns the size of a terminal, at first and after each change.
type terminalSizes struct {
	fd      int
	changed chan os.Signal
	done    chan struct{}
}

func followSize(of *os.File) *terminalSizes {
	s := &terminalSizes{fd: int(of.Fd()), changed: make(chan os.Signal, 1), done: make(chan struct{})}
	s.changed <- syscall.SIGWINCH // for the initial size
	signal.Notify(s.changed, syscall.SIGWINCH)
	return s
}

// Next implements remotecommand.TerminalSizeQueue.
func (s *terminalSizes) Next() *remotecommand.TerminalSize {
	select {
	case <-s.done:
		return nil
	case <-s.changed:
	}
	width, height, err := term.GetSize(s.fd)
	if err != nil || width <= 0 || height <= 0 || width > maxSide || height > maxSide {
		return nil
	}
	return &remotecommand.TerminalSize{Width: uint16(width), Height: uint16(height)}
}

// maxSide is the maximum number of columns or rows in the protocol.
const maxSide = 1<<16 - 1

func (s *terminalSizes) end() {
	signal.Stop(s.changed)
	close(s.done)
}
