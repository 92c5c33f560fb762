package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func open(t *testing.T, path string) *Dir {
	t.Helper()
	d, err := Open(path)
	if err != nil {
		t.Fatalf("Open() = %v", err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func TestOpen(t *testing.T) {
	t.Parallel()

	t.Run("a second holder is refused until the first lets go", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "data")
		first := open(t, path)
		if _, err := Open(path); !errors.Is(err, ErrInUse) {
			t.Fatalf("Open() of a held directory = %v, want ErrInUse", err)
		}
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		open(t, path)
	})

	t.Run("directories with secrets are closed to others, also where they were open", func(t *testing.T) {
		t.Parallel()
		path := t.TempDir()
		if err := os.MkdirAll(filepath.Join(path, "run"), 0o755); err != nil {
			t.Fatal(err)
		}
		d := open(t, path)
		for _, sub := range []string{d.Run(), d.PKI(), d.Etcd(), d.Logs()} {
			info, err := os.Stat(sub)
			if err != nil {
				t.Fatal(err)
			}
			if got := info.Mode().Perm(); got != 0o700 {
				t.Errorf("mode of %q = %o, want 700", sub, got)
			}
		}
	})
}

func TestPort(t *testing.T) {
	t.Parallel()
	anyPort := func(int) error { return nil }
	never := func(int) error { return errors.New("taken") }
	port := func(t *testing.T, d *Dir, wanted int, probe func(int) error) int {
		t.Helper()
		got, err := d.Port(wanted, probe)
		if err != nil {
			t.Fatalf("Port(%d) = %v", wanted, err)
		}
		return got
	}

	t.Run("a chosen port stays, even if it is taken at the moment", func(t *testing.T) {
		t.Parallel()
		path := t.TempDir()
		d := open(t, path)
		first := port(t, d, 0, anyPort)
		if first < firstPort || first > lastPort {
			t.Errorf("Port(0) = %d, want one between %d and %d", first, firstPort, lastPort)
		}
		_ = d.Close()
		if again := port(t, open(t, path), 0, never); again != first {
			t.Errorf("Port(0) after a restart = %d, want %d", again, first)
		}
	})

	t.Run("a taken candidate is passed over", func(t *testing.T) {
		t.Parallel()
		tries := 0
		port(t, open(t, t.TempDir()), 0, func(int) error {
			if tries++; tries < 3 {
				return errors.New("taken")
			}
			return nil
		})
		if tries != 3 {
			t.Errorf("tries = %d, want 3", tries)
		}
	})

	t.Run("the search ends with the reason", func(t *testing.T) {
		t.Parallel()
		reason := errors.New("no such address")
		if _, err := open(t, t.TempDir()).Port(0, func(int) error { return reason }); !errors.Is(err, reason) {
			t.Errorf("Port() = %v, want it to wrap %v", err, reason)
		}
	})

	t.Run("a wanted port is remembered", func(t *testing.T) {
		t.Parallel()
		d := open(t, t.TempDir())
		port(t, d, 6443, never)
		if got := port(t, d, 0, never); got != 6443 {
			t.Errorf("Port(0) = %d, want 6443", got)
		}
	})

	t.Run("a file without a port is an error", func(t *testing.T) {
		t.Parallel()
		d := open(t, t.TempDir())
		if err := os.WriteFile(filepath.Join(d.root, "port"), []byte("soon"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Port(0, anyPort); err == nil {
			t.Error("Port() = nil error, want one")
		}
	})
}
