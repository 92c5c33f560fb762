package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/hub/machinery/controlplane/datadir"
	"fairlead.dev/hub/machinery/controlplane/encryption"
)

func newEncryption() *cobra.Command {
	cmd := &cobra.Command{Use: "encryption", Short: "Look at the keys that encrypt the database of a hub, or begin a new one"}
	cmd.AddCommand(newEncryptionStatus(), newEncryptionRotate())
	return cmd
}

func newEncryptionStatus() *cobra.Command {
	var dataDir string
	cmd := &cobra.Command{
		Use: "status --data-dir DIR", Short: "Say what encrypts the database, and what is to be done", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := datadir.OpenUnlocked(dataDir)
			if err != nil {
				return err
			}
			return describe(cmd, dir)
		},
	}
	needsDataDir(cmd, &dataDir)
	return cmd
}

func newEncryptionRotate() *cobra.Command {
	var dataDir string
	cmd := &cobra.Command{
		Use: "rotate --data-dir DIR", Short: "Make a new key, with which everything is encrypted at the next start", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := datadir.OpenUnlocked(dataDir)
			if err != nil {
				return err
			}
			if err := encryption.Rotate(dir.Encryption(), time.Now()); err != nil {
				return err
			}
			if err := describe(cmd, dir); err != nil {
				return err
			}
			external, err := dir.External()
			if err != nil || !external.Used() {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), "Other machines use this etcd: stop `hub serve` on all of them, bring the key there with `hub ca export` and `hub ca import --replace`, and start all again. Once it encrypts, no machine without the key is of use.")
			return err
		},
	}
	needsDataDir(cmd, &dataDir)
	return cmd
}

// describe prints how the database of a data directory is encrypted, and what to do.
func describe(cmd *cobra.Command, dir *datadir.Dir) error {
	words, err := encryption.Describe(dir.Encryption())
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), words)
	return err
}
