package supervise

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/hub/machinery/controlplane/datadir"
	"fairlead.dev/hub/machinery/controlplane/encryption"
	"fairlead.dev/hub/machinery/controlplane/pki"
)

// ErrIncomplete says that a data directory has lost a part of its control plane.
var ErrIncomplete = errors.New("a part of this data directory is lost")

// checkComplete returns an error if a data directory with an embedded database has lost keys or the database. A start would silently make
// new ones: keys that no agent trusts, or an empty database without clusters.
//
// A first start writes the lasting keys, then has etcd make the database, then notes that the database is encrypted. So even if it is
// killed in between, a database has its keys beside it, and the note has its database.
func checkComplete(dir *datadir.Dir, isNew bool) error {
	if isNew {
		return checkNoLostDatabase(dir)
	}
	missing, err := pki.Missing(dir.PKI())
	if err != nil {
		return err
	}
	missing = slices.DeleteFunc(missing, pki.IsFrontProxy) // only this control plane uses it, and can recreate it
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("%w: the database is there, and %s has no %s, without which nobody who was joined trusts this hub: bring it back from a backup, "+
		"which `hub restore` unpacks to another --data-dir (see manifests/install/disaster.md)", ErrIncomplete, dir.PKI(), strings.Join(missing, ", "))
}

// checkNoLostDatabase returns an error if there is no database although the note of its encryption says that there was one.
func checkNoLostDatabase(dir *datadir.Dir) error {
	sealed, err := encryption.WasEncrypted(dir.Encryption())
	if err != nil || !sealed {
		return err
	}
	return fmt.Errorf("%w: %s has no database, and %s is of a hub that had one: if it is on another disk, mount that; else move %s away and run "+
		"`hub restore` (see manifests/install/disaster.md); to begin a new hub, which every cluster has to join anew, remove %s and %s",
		ErrIncomplete, dir.Etcd(), dir.Encryption(), dir.Root(), dir.PKI(), dir.Encryption())
}
