package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"fairlead.dev/hub/machinery/apiserver"
)

// stdio is the name of a file that stands for standard input or output.
const stdio = "-"

// storeFlags say where a hub with an API of its own keeps everything.
type storeFlags struct{ dataDir, controlplane string }

func (f *storeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dataDir, "data-dir", defaultDataDir, "data directory of the hub")
	cmd.Flags().StringVar(&f.controlplane, "controlplane-binary", "", "the program that is the embedded API (default: controlplane beside this program, or else on $PATH)")
}

func newBackup(env Environment) *cobra.Command {
	var store storeFlags
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write all that a hub keeps to a file, while it runs",
		Long: "Write what the embedded API of a running hub keeps to a file, or with - to standard output: its database as it is at\n" +
			"one moment, and the keys by which agents and administrators know the hub. Nothing waits meanwhile. Run it on the hub's\n" +
			"machine, as the user of the hub. Whoever has the file can be the hub: only its owner may read it, keep it so.\n\n" +
			"A hub that was started with --kubeconfig keeps everything in that API, whose etcd has backups of its own.",
		Example: "  hub backup /backup/hub-$(date +%F).backup\n" +
			"  (umask 077; kubectl exec -n fairlead-system fairlead-hub-0 -- /hub backup - > hub.backup)",
		Args: oneFile,
		RunE: func(cmd *cobra.Command, files []string) error {
			if files[0] != stdio {
				if err := store.run(cmd.Context(), env, stream{}, "backup", files[0]); err != nil {
					return err
				}
				info, err := os.Stat(files[0])
				if err != nil {
					return fmt.Errorf("looking at the backup: %w", err)
				}
				say(env.Err, "%s holds the hub of %s: %.1f MB. Restore it with `hub restore`.", files[0], store.dataDir, float64(info.Size())/1e6)
				return nil
			}
			return store.run(cmd.Context(), env, stream{out: env.exact}, "backup", stdio)
		},
	}
	store.add(cmd)
	return cmd
}

func newRestore(env Environment) *cobra.Command {
	var store storeFlags
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Make the data directory of a hub from a backup",
		Long: "Make the data directory of a hub from a file that `hub backup` wrote, or with - from standard input. The directory must\n" +
			"hold no hub. Then start the hub with the flags that it had, under the address that it had: agents come back by themselves.\n\n" +
			"The hub is then as it was when the backup was made. What was made since stays in the clusters and is reported as\n" +
			"unclaimed, nothing there is deleted; clusters that joined since have to join again.",
		Example: "  systemctl stop fairlead-hub && mv /var/lib/fairlead /var/lib/fairlead.broken\n" +
			"  hub restore hub.backup && systemctl start fairlead-hub",
		Args: oneFile,
		RunE: func(cmd *cobra.Command, files []string) error {
			var given stream
			if files[0] == stdio {
				given.in = env.In
			}
			if err := store.run(cmd.Context(), env, given, "restore", files[0]); err != nil {
				return err
			}
			say(env.Err, "%s holds the hub again. Start it: `hub serve --data-dir %s`, with the flags that it had.", store.dataDir, store.dataDir)
			return nil
		},
	}
	store.add(cmd)
	return cmd
}

func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("name one file, or - ; see `%s --help`", cmd.CommandPath())
	}
	return nil
}

// stream is what goes in and comes out; nil is nothing.
type stream struct {
	in  io.Reader
	out io.Writer
}

// run has the program that is the embedded API do it: it knows its database.
func (f storeFlags) run(ctx context.Context, env Environment, through stream, command ...string) error {
	binary, err := apiserver.FindBinary(f.controlplane)
	if err != nil {
		return err
	}
	dataDir, err := filepath.Abs(f.dataDir)
	if err != nil {
		return fmt.Errorf("--data-dir %q: %w", f.dataDir, err)
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, append(command, "--data-dir", dataDir)...) //nolint:gosec // the operator's own program
	cmd.Stdin, cmd.Stdout, cmd.Stderr = through.in, through.out, &said
	// Asked to stop, it removes what it began. Ctrl-C would reach it twice, and the second time
	// kills it, hence a group of its own.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	err = cmd.Run()
	words := strings.TrimPrefix(strings.TrimSpace(said.String()), "controlplane: ")
	if err == nil {
		if words != "" {
			say(env.Err, "%s", words)
		}
		return nil
	}
	if words == "" {
		return fmt.Errorf("%s: %w", strings.Join(command, " "), err)
	}
	return errors.New(words)
}
