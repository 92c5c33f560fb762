package datadir

import (
	"os"
	"path/filepath"
	"testing"
)

// TestADatabaseThatWasNotMadeToItsEndIsMadeOnceMore opens a directory after each point at which a first start may be
// killed.
func TestADatabaseThatWasNotMadeToItsEndIsMadeOnceMore(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		what   string
		until  func(d *Dir) error
		isKept bool
	}{
		{"before it answered", (*Dir).BeginDatabase, false},
		{"after", func(d *Dir) error {
			if err := d.BeginDatabase(); err != nil {
				return err
			}
			return d.EndBeginning()
		}, true},
		{"of before there was a note", func(*Dir) error { return nil }, true},
	} {
		root := t.TempDir()
		d, err := Open(root)
		if err != nil {
			t.Fatal(err)
		}
		member := filepath.Join(d.Etcd(), "member")
		if err := os.Mkdir(member, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := tc.until(d); err != nil {
			t.Fatal(err)
		}
		for range 2 { // a restore in between is kept
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			if d, err = Open(root); err != nil {
				t.Fatal(err)
			}
			isNew, err := d.IsNew()
			if err != nil || isNew == tc.isKept {
				t.Errorf("%s: new is %t, %v", tc.what, isNew, err)
			}
			if err := os.MkdirAll(member, 0o700); err != nil {
				t.Fatal(err)
			}
			tc.isKept = true
		}
		_ = d.Close()
	}
}

// TestADatabaseThatIsMountedLaterIsKept kills a first start that ran before the disk of the database was mounted, and
// then mounts it.
func TestADatabaseThatIsMountedLaterIsKept(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.BeginDatabase(); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(d.Etcd(), filepath.Join(t.TempDir(), "beneath")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(d.Etcd(), "member"), 0o700); err != nil {
		t.Fatal(err)
	}
	if d, err = Open(root); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	if isNew, err := d.IsNew(); isNew || err != nil {
		t.Errorf("new is %t, %v: a database was removed that had nothing to do with the start that was killed", isNew, err)
	}
}
