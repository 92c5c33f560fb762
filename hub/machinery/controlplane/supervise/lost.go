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

// ErrIncomplete says that a data directory has only a part of what a control plane had in it.
var ErrIncomplete = errors.New("a part of this data directory is lost")

// checkComplete says what of a control plane with a database of its own is not there any more, or nil. A start would make it anew in silence: other
// keys, which no agent trusts, or an empty database, which knows no cluster.
//
// A first start writes the lasting keys, then has etcd make the database, then notes that it is encrypted. So wherever it is killed, a
// database has keys beside it, and a note has a database.
func checkComplete(dir *datadir.Dir, isNew bool) error {
	if isNew {
		return checkNoLostDatabase(dir)
	}
	missing, err := pki.Missing(dir.PKI())
	if err != nil {
		return err
	}
	missing = slices.DeleteFunc(missing, pki.IsFrontProxy) // only this control plane goes by it, which makes it anew
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("%w: the database is there, and %s has no %s, without which nobody who was joined trusts this hub: bring it back from a backup, "+
		"which `hub restore` unpacks to another --data-dir (see manifests/install/disaster.md)", ErrIncomplete, dir.PKI(), strings.Join(missing, ", "))
}

// checkNoLostDatabase says that there was a database once, which now there is not, or nil.
func checkNoLostDatabase(dir *datadir.Dir) error {
	sealed, err := encryption.WasEncrypted(dir.Encryption())
	if err != nil || !sealed {
		return err
	}
	return fmt.Errorf("%w: %s has no database, and %s is of a hub that had one: if it is on another disk, mount that; else move %s away and run "+
		"`hub restore` (see manifests/install/disaster.md); to begin a new hub, which every cluster has to join anew, remove %s and %s",
		ErrIncomplete, dir.Etcd(), dir.Encryption(), dir.Root(), dir.PKI(), dir.Encryption())
}
