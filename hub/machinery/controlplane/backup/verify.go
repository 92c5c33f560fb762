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

// registry is the prefix below which kube-apiserver keeps everything.
const registry = "/registry/"

// scratchPrefix begins the names of the directories that Verify makes.
const scratchPrefix = "fairlead-verify-"

// Verified says what was found in a backup that a hub could go on with.
type Verified struct {
	encryption.Counts

	// Taken is when the backup was made.
	Taken time.Time `json:"taken"`
	// Version is the version of the program which made it.
	Version string `json:"version"`
	// Objects is how many are in the database.
	Objects int `json:"objects"`
	// Providers are the encryption providers of the operator's own whose keys a hub needs beside the backup, if Foreign is not 0.
	Providers []string `json:"providers,omitempty"`
}

// Verify restores a backup to a directory of its own below scratch, reads the restored database and decrypts it, and removes
// the directory again. What an earlier one left there that was killed goes, too.
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

// sweep removes what is left of verifications of this user that were killed: nobody holds their directories any more. What cannot be
// removed is the next one's. Others may write to scratch, too, so what is not ours is not even opened.
func sweep(scratch string) {
	left, _ := filepath.Glob(filepath.Join(scratch, scratchPrefix+"*")) // the pattern is well-formed
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
