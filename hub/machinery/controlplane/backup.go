package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"

	"k8s.io/component-base/version"
	"k8s.io/klog/v2"

	"fairlead.dev/hub/machinery/controlplane/atomicfile"
	"fairlead.dev/hub/machinery/controlplane/backup"
)

// stdio stands for standard input or output.
const stdio = "-"

func newBackup() *cobra.Command {
	var dataDir string
	cmd := &cobra.Command{
		Use:   "backup --data-dir DIR FILE",
		Short: "Write the database and the keys of a running control plane to a file, or to - for standard output",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			source := backup.Source{DataDir: dataDir, Version: version.Get().GitVersion, Now: time.Now()}
			take := func(out io.Writer) error { return source.Take(cmd.Context(), out) }
			if names[0] == stdio {
				return take(cmd.OutOrStdout())
			}
			return newFile(names[0], take)
		},
	}
	needsDataDir(cmd, &dataDir)
	return cmd
}

func newRestore() *cobra.Command {
	var dataDir string
	cmd := &cobra.Command{
		Use:   "restore --data-dir DIR FILE",
		Short: "Make a data directory from a backup, in a file or, with -, from standard input",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			return withInput(names[0], cmd.InOrStdin(), func(in io.Reader) error {
				return restore(cmd.Context(), in, dataDir, cmd.ErrOrStderr())
			})
		},
	}
	needsDataDir(cmd, &dataDir)
	return cmd
}

func newVerify() *cobra.Command {
	var scratch string
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Restore a backup to a directory that is removed again, and say what is in it; with - from standard input",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			klog.SetLogger(logr.Discard()) // decryption failures are in the error
			return withInput(names[0], cmd.InOrStdin(), func(in io.Reader) error {
				verified, err := backup.Verify(cmd.Context(), in, scratch, time.Now())
				if err != nil {
					return err
				}
				return json.NewEncoder(cmd.OutOrStdout()).Encode(verified)
			})
		},
	}
	cmd.Flags().StringVar(&scratch, "scratch-dir", os.TempDir(), "where that directory is made")
	return cmd
}

// withInput calls do with a file, or with standard input.
func withInput(name string, stdin io.Reader, do func(io.Reader) error) error {
	if name == stdio {
		return do(stdin)
	}
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("reading the backup: %w", err)
	}
	defer func() { _ = file.Close() }()
	return do(file)
}

func needsDataDir(cmd *cobra.Command, dataDir *string) {
	cmd.Flags().StringVar(dataDir, "data-dir", "", "directory of the database and the keys")
	_ = cmd.MarkFlagRequired("data-dir") // fails only for unknown flags
}

func restore(ctx context.Context, in io.Reader, dataDir string, diagnosis io.Writer) error {
	restored, err := backup.Restore(ctx, in, dataDir)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(diagnosis, "controlplane: restored the backup of %s, made by version %s\n", restored.Taken.Format(time.RFC3339), restored.Version)
	return err
}

// newFile creates a file with mode 0600 that appears completely or not at all. It does not overwrite an existing file.
func newFile(name string, write func(io.Writer) error) error {
	path, err := filepath.Abs(name)
	if err != nil {
		return fmt.Errorf("resolving %q: %w", name, err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fmt.Errorf("%q exists: name another file, or move it away", name), err)
	}
	if err := atomicfile.Fill(path, write); err != nil {
		return fmt.Errorf("writing the backup: %w", err)
	}
	return nil
}
