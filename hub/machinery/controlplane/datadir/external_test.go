package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"fairlead.dev/hub/machinery/controlplane/args"
)

func TestADataDirectoryKeepsToItsDatabase(t *testing.T) {
	t.Parallel()
	external := args.ExternalEtcd{Servers: []string{"https://a:2379"}, Prefix: args.DefaultEtcdPrefix}
	d, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	for _, wanted := range []args.ExternalEtcd{{}, external} {
		if err := d.CheckDatabase(wanted); err != nil {
			t.Errorf("a new directory is refused: %v", err)
		}
	}
	if err := d.UseExternal(external); err != nil {
		t.Fatal(err)
	}
	if err := d.CheckDatabase(external); err != nil {
		t.Errorf("the etcd of the last start is refused: %v", err)
	}
	if err := d.CheckDatabase(args.ExternalEtcd{}); !errors.Is(err, ErrOtherDatabase) {
		t.Errorf("a new database is begun beside the one that there is: %v", err)
	}

	own, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = own.Close() }()
	if err := os.Mkdir(filepath.Join(own.Etcd(), "member"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := own.CheckDatabase(external); !errors.Is(err, ErrOtherDatabase) {
		t.Errorf("another database is used than the one that there is: %v", err)
	}
}
