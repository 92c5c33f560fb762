package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/hub/machinery/apiserver"
	"fairlead.dev/hub/machinery/backup"
)

// stdio stands for standard input or output.
const stdio = "-"

// storeFlags locate the state of a hub with an embedded API.
type storeFlags struct{ dataDir, controlplane string }

func (f *storeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dataDir, "data-dir", defaultDataDir, "data directory of the hub")
	completeDirectories(cmd, "data-dir")
	f.addProgram(cmd)
}

func (f *storeFlags) addProgram(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.controlplane, "controlplane-binary", "", "the program that is the embedded API (default: controlplane beside this program, or else on $PATH)")
}

// stream is the input and output of a program; nil means none.
type stream struct {
	in  io.Reader
	out io.Writer
}

// run runs a command of the embedded API's program on the data directory, and passes on its messages.
func (f storeFlags) run(ctx context.Context, env Environment, through stream, command ...string) error {
	dataDir, err := filepath.Abs(f.dataDir)
	if err != nil {
		return fmt.Errorf("--data-dir %q: %w", f.dataDir, err)
	}
	words, err := f.call(ctx, through, append(command, "--data-dir", dataDir)...)
	if err == nil && words != "" {
		say(env.Err, "%s", words)
	}
	return err
}

// programGrace is how long the program may take to clean up.
const programGrace = 5 * time.Second

// call runs a command of the embedded API's program, which knows the database. It returns the program's messages.
func (f storeFlags) call(ctx context.Context, through stream, command ...string) (string, error) {
	binary, err := apiserver.FindBinary(f.controlplane)
	if err != nil {
		return "", err
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, command...) //nolint:gosec // the operator's own program
	cmd.Stdin, cmd.Stdout, cmd.Stderr = through.in, through.out, &said
	// The program cleans up when it is asked to stop. It gets its own process group: Ctrl-C would otherwise signal it
	// twice, and the second signal kills it. It does not outlive a killed hub: it would go on reading a database that
	// is gone, or verify for nobody.
	cmd.SysProcAttr = apiserver.ChildAttributes()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = programGrace
	err = cmd.Run()
	words := strings.TrimPrefix(strings.TrimSpace(said.String()), "controlplane: ")
	switch {
	case err == nil:
		return words, nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case words == "":
		return "", fmt.Errorf("%s %s: %w", filepath.Base(binary), command[0], err)
	}
	return "", errors.New(words)
}

// database returns the hub's database for backups.
func (f storeFlags) database(scratch string) backup.Database {
	return backup.Database{
		Take: func(ctx context.Context, out io.Writer) error {
			dataDir, err := filepath.Abs(f.dataDir)
			if err == nil {
				_, err = f.call(ctx, stream{out: out}, "backup", "--data-dir", dataDir, stdio)
			}
			return err
		},
		Verify: func(ctx context.Context, in io.Reader) (*backup.Verified, error) {
			var out bytes.Buffer
			if _, err := f.call(ctx, stream{in: in, out: &out}, "verify", "--scratch-dir", scratch, stdio); err != nil {
				return nil, err
			}
			verified := &backup.Verified{}
			if err := json.Unmarshal(out.Bytes(), verified); err != nil {
				return nil, fmt.Errorf("reading what was found in the backup: %w", err)
			}
			return verified, nil
		},
	}
}
