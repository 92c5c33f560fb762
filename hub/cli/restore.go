package cli

import (
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"fairlead.dev/hub/machinery/apiserver"
	"fairlead.dev/hub/machinery/backup"
)

func newRestore(env Environment) *cobra.Command {
	var store storeFlags
	var key string
	cmd := &cobra.Command{
		Use:               "restore FILE",
		ValidArgsFunction: files,
		Short:             "Make the data directory of a hub from a backup",
		Long: "Make the data directory of a hub from a file that `hub backup` or `hub serve --backup-every` wrote, or with - from standard\n" +
			"input. A sealed one needs the secret key, in a file or with --key - from standard input. The directory must hold no hub.\n" +
			"Then start the hub with the flags that it had, under the address that it had: agents come back by themselves.\n\n" +
			"The hub is then as it was when the backup was made. What was made since stays in the clusters and is reported as\n" +
			"unclaimed, nothing there is deleted; clusters that joined since have to join again.",
		Example: "  systemctl stop fairlead-hub && install -d -o fairlead -g fairlead -m 0700 /var/lib/fairlead.broken\n" +
			"  find /var/lib/fairlead -mindepth 1 -maxdepth 1 ! -name agent -exec mv -t /var/lib/fairlead.broken {} +\n" +
			"  sudo -u fairlead hub restore hub.backup.age --key hub-backup.key && systemctl start fairlead-hub",
		Args: oneFile,
		RunE: func(cmd *cobra.Command, files []string) error {
			// A non-root user may share a group with the hub, such as that of a volume. But what root writes, the hub
			// cannot read.
			if os.Geteuid() == 0 {
				if err := apiserver.CheckOwner(store.dataDir); err != nil {
					return err
				}
			}
			err := readBackup(env, files[0], key, func(in io.Reader, keys backup.Keys) error {
				return backup.WithOpened(in, keys, func(opened io.Reader) error {
					return store.run(cmd.Context(), env, stream{in: opened}, "restore", stdio)
				})
			})
			if err != nil {
				return err
			}
			say(env.Err, "%s holds the hub again. Start it: `hub serve --data-dir %s`, with the flags that it had.", store.dataDir, store.dataDir)
			return nil
		},
	}
	store.add(cmd)
	addKey(cmd, &key)
	return cmd
}

func addKey(cmd *cobra.Command, key *string) {
	cmd.Flags().StringVar(key, "key", "", "file of the secret key for which the backup was sealed, or - for standard input")
}

// readBackup calls do with a backup, and with the secret keys in the file of --key, if it is given.
func readBackup(env Environment, name, key string, do func(in io.Reader, keys backup.Keys) error) error {
	if name == stdio && key == stdio {
		return errors.New("only one of the backup and its key can come from standard input: name a file for the other")
	}
	var keys backup.Keys
	if key != "" {
		err := reading(env, key, func(in io.Reader) (err error) {
			keys, err = backup.ReadKeys(in, key)
			return err
		})
		if err != nil {
			return err
		}
	}
	return reading(env, name, func(in io.Reader) error { return do(in, keys) })
}

// reading calls do with a file or standard input.
func reading(env Environment, name string, do func(io.Reader) error) error {
	if name == stdio {
		if env.In == nil {
			return errors.New("there is nothing on standard input")
		}
		return do(env.In)
	}
	file, err := os.Open(name) //nolint:gosec // the operator's own file
	if err != nil {
		return err
	}
	return errors.Join(do(file), file.Close())
}
