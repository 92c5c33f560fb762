package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestOpenForRestore(t *testing.T) {
	t.Parallel()
	forRestore := func(t *testing.T, path string) *Dir {
		t.Helper()
		d, err := OpenForRestore(path)
		if err != nil {
			t.Fatalf("OpenForRestore() = %v", err)
		}
		return d
	}
	write := func(t *testing.T, path string) {
		t.Helper()
		if err := os.WriteFile(path, []byte("data"), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	t.Run("a directory with data or in use is refused", func(t *testing.T) {
		t.Parallel()
		path := t.TempDir()
		d := open(t, path)
		if _, err := OpenForRestore(path); !errors.Is(err, ErrInUse) {
			t.Errorf("OpenForRestore() = %v, want ErrInUse", err)
		}
		write(t, filepath.Join(d.PKI(), "ca.key"))
		_ = d.Close()
		if _, err := OpenForRestore(path); !errors.Is(err, ErrHoldsData) {
			t.Errorf("OpenForRestore() = %v, want ErrHoldsData", err)
		}
		if _, err := os.Stat(filepath.Join(d.PKI(), "ca.key")); err != nil {
			t.Errorf("the key is gone: %v", err)
		}
	})

	t.Run("no control plane starts on a part, and a second restore begins anew", func(t *testing.T) {
		t.Parallel()
		path := t.TempDir()
		killed := forRestore(t, path)
		write(t, filepath.Join(killed.PKI(), "ca.key"))
		_ = killed.Close()
		if _, err := Open(path); !errors.Is(err, ErrUnfinished) {
			t.Fatalf("Open() = %v, want ErrUnfinished", err)
		}
		again := forRestore(t, path)
		if left, _ := os.ReadDir(again.PKI()); len(left) > 0 {
			t.Errorf("of the first restore there is still %v", left)
		}
		if err := again.Restored(); err != nil {
			t.Fatal(err)
		}
		_ = again.Close()
		open(t, path)
	})

	t.Run("a restore that fails leaves an empty directory", func(t *testing.T) {
		t.Parallel()
		path := t.TempDir()
		d := forRestore(t, path)
		write(t, d.portFile())
		if err := d.Clear(); err != nil {
			t.Fatal(err)
		}
		_ = d.Close()
		_ = forRestore(t, path).Close()
	})
}
