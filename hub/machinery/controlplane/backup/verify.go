package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"fairlead.dev/hub/machinery/controlplane/database"
	"fairlead.dev/hub/machinery/controlplane/datadir"
	"fairlead.dev/hub/machinery/controlplane/encryption"
	"fairlead.dev/hub/machinery/controlplane/pki"
)

// registry is the key prefix of kube-apiserver.
const registry = "/registry/"

// scratchPrefix starts the names of the directories of Verify.
const scratchPrefix = "fairlead-verify-"

// Verified is the result of verifying a backup.
type Verified struct {
	encryption.Counts

	// Taken is when the backup was made.
	Taken time.Time `json:"taken"`
	// Version is the version of the program that made it.
	Version string `json:"version"`
	// Objects is the number of objects in the database.
	Objects int `json:"objects"`
	// Providers are the operator's own encryption providers whose keys a hub needs in addition to the backup, if
	// Foreign is not 0.
	Providers []string `json:"providers,omitempty"`
}

// Verify restores a backup to a new directory in scratch, reads and decrypts the restored database, and removes the
// directory. It also removes directories that interrupted verifications left there.
func Verify(ctx context.Context, in io.Reader, scratch string, now time.Time) (_ *Verified, err error) {
	sweep(scratch)
	path, err := os.MkdirTemp(scratch, scratchPrefix)
	if err != nil {
		return nil, fmt.Errorf("making a directory to restore the backup to: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(path)) }()
	dir, err := datadir.OpenForRestore(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	return verify(ctx, in, dir, now)
}

func verify(ctx context.Context, in io.Reader, dir *datadir.Dir, now time.Time) (*Verified, error) {
	snapshotPath := filepath.Join(dir.Run(), databaseName)
	all, err := unpack(ctx, in, dir, snapshotPath)
	if err != nil {
		return nil, err
	}
	if err := pki.Check(dir.PKI(), now); err != nil {
		return nil, fmt.Errorf("no agent would trust what is restored: %w", err)
	}
	if err := database.CheckPages(snapshotPath); err != nil {
		return nil, err
	}
	if err := database.Restore(snapshotPath, dir.Etcd()); err != nil {
		return nil, err
	}
	db := database.OpenStopped(dir.Etcd())
	defer func() { _ = db.Close() }()
	v := &Verified{Taken: all.Taken, Version: all.Version, Providers: all.Providers}
	if v.Objects, err = db.Count(ctx, registry); err != nil {
		return nil, err
	}
	if v.Objects == 0 {
		return nil, errors.New("the database of the backup is empty")
	}
	v.Counts, err = encryption.Check(ctx, dir.Encryption(), all.Providers, db.Each)
	return v, err
}

// sweep removes the directories of this user's interrupted verifications, which nobody has locked any more. Errors are
// left to the next sweep. Others may write to scratch, too, so other directories are not even opened.
func sweep(scratch string) {
	left, _ := filepath.Glob(filepath.Join(scratch, scratchPrefix+"*")) // the pattern is valid
	for _, path := range left {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 {
			continue
		}
		if owner, ok := info.Sys().(*syscall.Stat_t); ok && int(owner.Uid) == os.Geteuid() && datadir.IsAbandoned(path) {
			_ = os.RemoveAll(path)
		}
	}
}
