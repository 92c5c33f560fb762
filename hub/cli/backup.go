package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/common/atomicfile"
	"fairlead.dev/hub/machinery/backup"
)

// backupFlags are the flags of `hub backup`.
type backupFlags struct {
	store      storeFlags
	recipients []string
	unsealed   bool
	scratch    string
}

func newBackup(env Environment) *cobra.Command {
	var f backupFlags
	cmd := &cobra.Command{
		Use:               "backup FILE",
		ValidArgsFunction: files,
		Short:             "Back up a running hub to a file",
		Long: "Write the data of a running hub's embedded API to a file, or with - to standard output: its database as it is at\n" +
			"one moment, and the keys by which agents and administrators know the hub. The hub goes on meanwhile. Run it on the hub's\n" +
			"machine, as the user of the hub.\n\n" +
			"Whoever can read a backup can impersonate the hub, so it is sealed for a public key; keep the secret key on another machine\n" +
			"(`hub backup keygen` makes both); --unsealed is for those who seal it in another way. A backup is restored to a scratch\n" +
			"directory to verify it before it gets its name. `hub serve --backup-every` makes backups by itself.\n\n" +
			"Of a hub on an etcd of yours (--etcd-servers) the backup has all of that etcd, as one member has it, and can be restored\n" +
			"to a hub with an etcd of its own.\n\n" +
			"A hub that was started with --kubeconfig keeps everything in that API, whose etcd has backups of its own.",
		Example: "  hub backup keygen hub-backup.key\n" +
			"  hub backup /backup/hub-$(date +%F).backup.age --recipient age1…\n" +
			"  (umask 077; kubectl exec -n fairlead-system fairlead-hub-0 -- /hub backup - --recipient age1… > hub.backup.age)",
		Args: oneFile,
		RunE: func(cmd *cobra.Command, files []string) error { return f.run(cmd.Context(), env, files[0]) },
	}
	f.store.add(cmd)
	cmd.Flags().StringSliceVar(&f.recipients, "recipient", nil, "public key (age1…) for which the backup is sealed; repeat it if any of several keys should open it")
	cmd.Flags().BoolVar(&f.unsealed, "unsealed", false, "do not seal it: whoever can read the file has the keys of the hub and all Secrets")
	cmd.Flags().StringVar(&f.scratch, "scratch-dir", "", "where it is restored to be verified, which takes twice the room of the database for a moment (default: the data directory)")
	completeDirectories(cmd, "scratch-dir")
	cmd.AddCommand(newBackupKeygen(env), newBackupVerify(env), newBackupStatus(env), newBackupNewest(env))
	return cmd
}

func (f *backupFlags) run(ctx context.Context, env Environment, file string) error {
	if len(f.recipients) == 0 && !f.unsealed {
		return errors.New("no public key is given to seal the backup for: name one with --recipient, which `hub backup keygen FILE` makes; " +
			"or use --unsealed if the file is kept as safe as the hub itself: it contains the keys of the hub and all Secrets")
	}
	if len(f.recipients) > 0 && f.unsealed {
		return errors.New("--recipient seals the backup, and --unsealed does not: choose one")
	}
	seal, err := backup.ParseRecipients(f.recipients)
	if err != nil {
		return fmt.Errorf("--recipient: %w", err)
	}
	scratch, err := scratchDir(f.scratch, f.store.dataDir)
	if err != nil {
		return err
	}
	maker := backup.Maker{Database: f.store.database(scratch), Seal: seal}
	var made *backup.Verified
	if file == stdio {
		made, err = maker.ToStream(ctx, env.exact)
	} else if file, err = filepath.Abs(file); err == nil {
		made, err = maker.ToFile(ctx, file)
	}
	if err != nil {
		return err
	}
	what := "The backup"
	if file != stdio {
		what = file
	}
	say(env.Err, "%s holds the hub of %s: %s. It was restored once to verify it.", what, f.store.dataDir, describeBackup(made))
	if len(f.recipients) == 0 {
		say(env.Err, "It is not sealed: whoever can read it can impersonate the hub.")
	}
	return nil
}

// scratchDir returns the directory in which backups are restored for verification.
func scratchDir(named, dataDir string) (string, error) {
	if named == "" {
		named = dataDir
	}
	return filepath.Abs(named)
}

// describeBackup describes the content of a backup.
func describeBackup(v *backup.Verified) string {
	out := fmt.Sprintf("%d objects as of %s", v.Objects, v.Taken.Local().Format(time.RFC3339))
	if v.Size > 0 {
		out += fmt.Sprintf(", %.1f MB", float64(v.Size)/1e6)
	}
	if v.Foreign > 0 {
		out += fmt.Sprintf("; %d of them need beside the backup what --encryption-provider-config of `hub serve` names (%s)", v.Foreign, strings.Join(v.Providers, ", "))
	}
	return out
}

func newBackupKeygen(env Environment) *cobra.Command {
	return &cobra.Command{
		Use:               "keygen FILE",
		ValidArgsFunction: files,
		Short:             "Make the key for which backups are sealed",
		Long: "Make a secret key in a file, or with - on standard output, and print its public key, which the hub needs\n" +
			"(`hub serve --backup-recipient`, `hub backup --recipient`). Make it on another machine than the hub, and keep it where the\n" +
			"loss of the hub does not take it along: without it no backup can be restored, and whoever has it can read all of them.\n" +
			"The file is one of age (https://age-encryption.org); keys of age-keygen do as well.",
		Example: "  hub backup keygen hub-backup.key",
		Args:    oneFile,
		RunE: func(_ *cobra.Command, files []string) error {
			data, public, err := backup.NewKey(env.Clock.Now())
			if err != nil {
				return err
			}
			if files[0] == stdio {
				if _, err := env.exact.Write(data); err != nil {
					return fmt.Errorf("writing the key: %w", err)
				}
				say(env.Err, "Public key: %s", public)
				return nil
			}
			if _, err := os.Lstat(files[0]); !errors.Is(err, fs.ErrNotExist) {
				return errors.Join(fmt.Errorf("%q exists, and backups may need the key in it: name another file", files[0]), err)
			}
			if err := atomicfile.Write(files[0], data); err != nil {
				return fmt.Errorf("writing the key: %w", err)
			}
			say(env.Out, "%s", public)
			say(env.Err, "%s has the secret key that belongs to it. Keep it, and a copy, away from the hub: nothing else opens what is sealed for it.", files[0])
			return nil
		},
	}
}

func newBackupVerify(env Environment) *cobra.Command {
	var store storeFlags
	var key, scratch string
	cmd := &cobra.Command{
		Use:               "verify FILE",
		ValidArgsFunction: files,
		Short:             "Restore a backup to a directory that is removed again, and say what is in it",
		Long: "Open a backup, or with - what comes from standard input, with the secret key if it is sealed, restore it to a scratch\n" +
			"directory, check every page of the database, and decrypt what is encrypted in it with the keys beside it. No hub is needed,\n" +
			"nor started. For a moment the scratch directory holds what the backup does, for the eyes of this user only.",
		Example: "  hub backup verify /backup/fairlead-1a2b3c4d-20261122T030000Z.backup.age --key hub-backup.key",
		Args:    oneFile,
		RunE: func(cmd *cobra.Command, files []string) error {
			scratch, err := scratchDir(scratch, os.TempDir())
			if err != nil {
				return err
			}
			return readBackup(env, files[0], key, func(in io.Reader, keys backup.Keys) error {
				verified, err := backup.Maker{Database: store.database(scratch)}.Verify(cmd.Context(), in, keys)
				if err != nil {
					return err
				}
				say(env.Out, "%s can be restored: %s, made by version %s.", files[0], describeBackup(verified), verified.Version)
				return nil
			})
		},
	}
	store.addProgram(cmd)
	addKey(cmd, &key)
	cmd.Flags().StringVar(&scratch, "scratch-dir", "", "where that directory is made; it takes twice the room of the database (default: that of temporary files)")
	completeDirectories(cmd, "scratch-dir")
	return cmd
}

func newBackupNewest(env Environment) *cobra.Command {
	var hub string
	cmd := &cobra.Command{
		Use:               "newest DIRECTORY",
		ValidArgsFunction: directories,
		Short:             "Print which scheduled backup in a directory is the newest",
		Long: "Print the name of the newest backup that a hub has made by itself in a directory, to restore or to verify it. It goes by the\n" +
			"time in the names and leaves out what is from the future: the clock of the hub was ahead then. No hub is needed.",
		Example: "  hub backup newest /backup",
		Args:    oneFile,
		RunE: func(_ *cobra.Command, directories []string) error {
			now := env.Clock.Now()
			file, ahead, err := backup.NewestFile(directories[0], hub, now)
			if err != nil {
				return err
			}
			for _, f := range ahead {
				say(env.Err, "%s is left out: by the clock of this machine, which says %s, it is from the future. If that clock is behind, take this one",
					f.Name, now.UTC().Format(time.RFC3339))
			}
			say(env.Out, "%s", file)
			return nil
		},
	}
	cmd.Flags().StringVar(&hub, "hub", "", "of which hub, as in the names of the files, if there are those of several")
	return cmd
}

func newBackupStatus(env Environment) *cobra.Command {
	var hub hubFlags
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the status of scheduled backups",
		Long: "Show when the last scheduled backup was made, where it is, and whether backups fail. The exit status is 2 if they fail, if\n" +
			"the last one is older than twice the time between two, or if there is none.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			hubClient, err := hub.connect(env)
			if err != nil {
				return err
			}
			record, err := backup.ReadRecord(cmd.Context(), hubClient)
			if err != nil {
				return err
			}
			return describeRecord(env, record)
		},
	}
	hub.add(env, cmd)
	return cmd
}

func describeRecord(env Environment, r *backup.Record) error {
	if r == nil {
		return &statusError{status: ExitNo, text: "this hub makes no backups by itself: start it with --backup-every, --backup-dir and --backup-recipient"}
	}
	now := env.Clock.Now()
	if last := r.Last; last != nil {
		say(env.Out, "Last backup, %s ago: %s on %s\n  %s; it was restored once to verify it.", age(now.Sub(last.At.Time)), last.File, last.Host, describeBackup(&last.Verified))
		if !last.Sealed {
			say(env.Out, "  It is not sealed: whoever can read it can impersonate the hub.")
		}
	}
	say(env.Out, "A backup is made every %s, in %s on %s.", r.Every.Duration, r.Directory, r.Host)
	switch {
	case !r.FailingSince.IsZero():
		return &statusError{status: ExitNo, text: fmt.Sprintf("backups fail since %s: %s", r.FailingSince.Local().Format(time.RFC3339), r.Failure)}
	case r.Last == nil:
		return &statusError{status: ExitNo, text: "there is no backup yet: the first is being made, if the hub runs"}
	case r.IsOverdue(now):
		return &statusError{status: ExitNo, text: "the last backup is too old: does the hub run, and with --backup-every? Its log says more"}
	}
	return nil
}

func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("name one file, or - ; see `%s --help`", cmd.CommandPath())
	}
	return nil
}
