package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/machinery/backup"
	"fairlead.dev/hub/machinery/backup/retention"
)

// defaultKeep is how many scheduled backups are kept.
const defaultKeep = 7

// scheduleFlags are the flags for scheduled backups.
type scheduleFlags struct {
	every      time.Duration
	directory  string
	keep       int
	maxAge     time.Duration
	recipients []string
	unsealed   bool
	scratch    string

	seal backup.Recipients
}

func (f *scheduleFlags) add(fs *pflag.FlagSet) {
	fs.DurationVar(&f.every, "backup-every", 0, "how much time there is between two backups of the embedded API, such as 6h; 0 for no backups")
	fs.StringVar(&f.directory, "backup-dir", "", "directory of these backups, on another disk than the data directory; made where it does not exist")
	fs.IntVar(&f.keep, "backup-keep", defaultKeep, "how many of them are kept; 0 for all")
	fs.DurationVar(&f.maxAge, "backup-max-age", 0, "how old one of them may become, such as 720h; 0 for any age. The newest is kept in any case")
	fs.StringSliceVar(&f.recipients, "backup-recipient", nil, "public key (age1…) for which they are sealed, of `hub backup keygen`; more than one if any of several is to open them")
	fs.BoolVar(&f.unsealed, "backup-unsealed", false, "do not seal them: whoever can read one has the keys of the hub and all Secrets")
	fs.StringVar(&f.scratch, "backup-scratch-dir", "", "where each is restored to be verified, which takes twice the room of the database for a moment (default: the data directory)")
}

// names returns the flags that require --backup-every.
func (f *scheduleFlags) names() []string {
	return []string{"backup-dir", "backup-keep", "backup-max-age", "backup-recipient", "backup-unsealed", "backup-scratch-dir"}
}

// complete sets defaults and validates.
func (f *scheduleFlags) complete(fs *pflag.FlagSet, dataDir string) (err error) {
	if f.every == 0 {
		for _, name := range f.names() {
			if fs.Changed(name) {
				return fmt.Errorf("--%s says how backups are made, and there are none without --backup-every", name)
			}
		}
		return nil
	}
	switch {
	case f.every < time.Second:
		return fmt.Errorf("--backup-every %s is less than a second", f.every)
	case f.directory == "":
		return errors.New("--backup-every needs --backup-dir, the directory where the backups go: best on another disk than --data-dir, which is what they are for")
	case f.keep < 0:
		return fmt.Errorf("--backup-keep %d is negative; 0 keeps all", f.keep)
	case f.maxAge < 0:
		return fmt.Errorf("--backup-max-age %s is negative; 0 keeps any age", f.maxAge)
	case f.maxAge > 0 && f.maxAge < f.every:
		return fmt.Errorf("--backup-max-age %s is less than --backup-every %s: there would be one backup, or an older one than it says", f.maxAge, f.every)
	case len(f.recipients) == 0 && !f.unsealed:
		return errors.New("--backup-every needs --backup-recipient, the public key for which the backups are sealed, which `hub backup keygen FILE` makes; " +
			"or --backup-unsealed if they are kept as safe as the hub itself: they have its keys and all Secrets in them")
	case len(f.recipients) > 0 && f.unsealed:
		return errors.New("--backup-recipient seals the backups, and --backup-unsealed does not: choose one")
	}
	if f.seal, err = backup.ParseRecipients(f.recipients); err != nil {
		return fmt.Errorf("--backup-recipient: %w", err)
	}
	if f.directory, err = filepath.Abs(f.directory); err != nil {
		return fmt.Errorf("--backup-dir: %w", err)
	}
	if f.scratch, err = scratchDir(f.scratch, dataDir); err != nil {
		return fmt.Errorf("--backup-scratch-dir: %w", err)
	}
	return nil
}

// addSchedule adds scheduled backups to the manager, if enabled, of a local database or an external etcd.
func (f *scheduleFlags) addSchedule(env Environment, mgr manager.Manager, store storeFlags, elsewhere, allEvents bool) error {
	if f.every == 0 {
		return nil
	}
	if !elsewhere && onOneFileSystem(f.directory, filepath.Join(store.dataDir, "etcd")) {
		say(env.Err, "Backups in %s are on the same file system as the database in %s: a disk that fails takes both. Name a directory on another disk with --backup-dir, or copy them elsewhere.",
			f.directory, store.dataDir)
	}
	recorder, err := eventsink.NewRecorders(mgr, nil)
	if err != nil {
		return err
	}
	schedule, err := backup.NewSchedule(backup.Deps{
		Maker:     backup.Maker{Database: store.database(f.scratch), Seal: f.seal},
		Directory: f.directory, Every: f.every, Rules: retention.Rules{Keep: f.keep, MaxAge: f.maxAge},
		HubReader: mgr.GetAPIReader(), HubClient: mgr.GetClient(), Registry: metrics.Registry,
		Events: eventsink.New(recorder("fairlead-backup"), allEvents), Clock: env.Clock,
	})
	if err != nil {
		return err
	}
	if err := mgr.Add(schedule); err != nil {
		return fmt.Errorf("scheduling backups: %w", err)
	}
	return nil
}
