package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"fairlead.dev/hub/machinery/controlplane/args"
	"fairlead.dev/hub/machinery/controlplane/atomicfile"
	"fairlead.dev/hub/machinery/controlplane/database"
	"fairlead.dev/hub/machinery/controlplane/datadir"
	"fairlead.dev/hub/machinery/controlplane/encryption"
)

// encrypt encrypts the secret objects that the database already has, with the present configuration, before kube-apiserver starts. A new
// database has none.
func (r run) encrypt(ctx context.Context) error {
	if r.encryption == nil || r.encryption.Done {
		return nil
	}
	if r.store.isNew {
		return r.finishNew()
	}
	if r.Etcd.Used() {
		return r.encryptExternal(ctx)
	}
	if r.upkeep.space.isFull {
		r.report("what is to be encrypted anew is read with the keys of before until the next start: the database is full")
		return nil
	}
	client, err := database.Connect(ctx, r.dir)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	written, err := encryption.Rewrite(ctx, client, r.encryption.Path(), args.DefaultEtcdPrefix)
	if err != nil {
		return err
	}
	r.report("encrypted %d objects in the database", written)
	// Without the rebuild the database works, and only keeps old copies: a disk with too little space for it is no reason not to start.
	if err := r.rebuild(ctx, client); err != nil {
		if ctx.Err() != nil || errors.Is(err, errReplacing) {
			return err
		}
		r.report("copies of before the encryption are left in the database: %v; make room, they are removed at the next start", err)
		return nil
	}
	return r.encryption.Finish()
}

// finishNew notes that a new database is encrypted. For the next start the note proves that there was a database, so the database has to be
// synced to the disk before.
func (r run) finishNew() error {
	if !r.Etcd.Used() {
		if err := atomicfile.SyncDir(r.dir.Etcd()); err != nil {
			return err
		}
	}
	return r.encryption.Finish()
}

// maxRewrites bounds how often an external database is rewritten again because other hubs changed it meanwhile.
const maxRewrites = 20

// encryptExternal encrypts the objects of an external database. Other hubs, whose keys this hub knows, write to it at the same time. Old
// revisions disappear with a hub's next compaction, and freed pages when the operator defragments the database.
func (r run) encryptExternal(ctx context.Context) error {
	written := 0
	for try := 1; ; try++ {
		some, err := encryption.Rewrite(ctx, r.store.client, r.encryption.Path(), r.Etcd.Prefix)
		written += some
		if errors.Is(err, encryption.ErrChanged) && try < maxRewrites {
			continue
		}
		if err != nil {
			return err
		}
		break
	}
	if written > 0 {
		r.report("encrypted %d objects in the database; once its members are defragmented (etcdctl defrag) no copy of before is left", written)
	}
	return r.encryption.Finish()
}

// errReplacing says that the database could not be replaced, which the next start completes.
var errReplacing = errors.New("replacing the database")

// rebuild copies the objects to a new database and replaces the old one, whose free pages, old revisions and write-ahead log still have
// copies from before the encryption.
func (r run) rebuild(ctx context.Context, client *clientv3.Client) error {
	status, err := client.Status(ctx, client.Endpoints()[0])
	if err != nil {
		return fmt.Errorf("asking the database for its revision: %w", err)
	}
	// On a full disk etcd would end, and with it the hub.
	if err := datadir.CheckFreeSpace(r.runDir, 2*status.DbSize+datadir.NewDatabase); err != nil {
		return err
	}
	// The revision is already compacted if an earlier rebuild was killed after this step.
	if _, err := client.Compact(ctx, status.Header.Revision, clientv3.WithCompactPhysical()); err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		return fmt.Errorf("dropping old revisions: %w", err)
	}
	if _, err := client.Defragment(ctx, client.Endpoints()[0]); err != nil {
		return fmt.Errorf("dropping pages that were freed: %w", err)
	}
	snapshot := filepath.Join(r.runDir, "rebuild.db")
	defer func() { _ = os.Remove(snapshot) }()
	file, err := os.OpenFile(snapshot, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600) //nolint:gosec // the path is our own
	if err != nil {
		return fmt.Errorf("making a file for the snapshot: %w", err)
	}
	err = errors.Join(database.Copy(ctx, client, file), file.Close())
	if err != nil {
		return err
	}
	if err := database.Rebuild(snapshot, r.dir.Rebuilt()); err != nil {
		return errors.Join(err, os.RemoveAll(r.dir.Rebuilt()))
	}
	r.group.End(etcdName)
	if err := r.dir.Replace(); err != nil {
		return fmt.Errorf("%w: %w", errReplacing, err)
	}
	if err := r.startEtcd(ctx); err != nil {
		return fmt.Errorf("%w: %w", errReplacing, err)
	}
	return nil
}
