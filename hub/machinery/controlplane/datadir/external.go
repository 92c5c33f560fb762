package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"fairlead.dev/hub/machinery/controlplane/args"
	"fairlead.dev/hub/machinery/controlplane/atomicfile"
)

// ErrOtherDatabase says that a data directory belongs to another database than the requested one.
var ErrOtherDatabase = errors.New("this data directory belongs to another database")

// ExternalFile is the file that records which external database the data directory uses. Whoever removes it starts
// over.
func (d *Dir) ExternalFile() string { return filepath.Join(d.root, "etcd.json") }

// External returns the external database that the data directory uses; the zero value if it has its own.
func (d *Dir) External() (args.ExternalEtcd, error) {
	var out args.ExternalEtcd
	data, err := os.ReadFile(d.ExternalFile())
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		return out, fmt.Errorf("reading which etcd this data directory goes with: %w", err)
	}
	return out, nil
}

// CheckDatabase returns an error if the data directory cannot be used with a database. A control plane that was started
// with the wrong one would find nothing, and start over with an empty database.
func (d *Dir) CheckDatabase(wanted args.ExternalEtcd) error {
	isNew, err := d.IsNew()
	if err != nil {
		return err
	}
	known, err := d.External()
	if err != nil {
		return err
	}
	switch {
	case wanted.Used() && !isNew:
		return fmt.Errorf("%w: %q has an etcd of its own, and --etcd-servers names another: leave --etcd-servers out, or name another --data-dir "+
			"and bring the authority of this hub there with `hub ca export` and `hub ca import`", ErrOtherDatabase, d.root)
	case !wanted.Used() && known.Used():
		return fmt.Errorf("%w: %q goes with the etcd at %s: give --etcd-servers, or name another --data-dir for a hub with an etcd of its own",
			ErrOtherDatabase, d.root, strings.Join(known.Servers, ","))
	}
	return nil
}

// UseExternal records the external database that the data directory uses.
func (d *Dir) UseExternal(etcd args.ExternalEtcd) error {
	data, err := json.MarshalIndent(etcd, "", "  ")
	if err != nil {
		return fmt.Errorf("noting which etcd is used: %w", err)
	}
	return atomicfile.Write(d.ExternalFile(), append(data, '\n'))
}
