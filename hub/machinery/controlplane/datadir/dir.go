package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

var (
	// ErrInUse says that another control plane has locked the data directory.
	ErrInUse = errors.New("data directory is in use")
	// ErrUnfinished says that a restore to the data directory was interrupted.
	ErrUnfinished = errors.New("restoring this data directory was interrupted")
)

// lockName is the name of the lock file.
const lockName = "lock"

// Dir is a data directory that this process has locked until Close.
type Dir struct {
	root string
	lock *os.File
}

// Open creates the data directory if needed, and locks it. It returns ErrInUse if another process has locked it, and
// ErrUnfinished if a restore to it was interrupted.
func Open(path string) (*Dir, error) {
	d, err := lockDir(path)
	if err != nil {
		return nil, err
	}
	if d.isRestoring() {
		_ = d.Close()
		return nil, fmt.Errorf("%w: restore the backup to %q again", ErrUnfinished, d.root)
	}
	return d, nil
}

func lockDir(path string) (*Dir, error) {
	root, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("resolving data directory %q: %w", path, err)
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, fmt.Errorf("creating data directory: %w", err)
	}
	lock, err := acquire(filepath.Join(root, lockName))
	if err != nil {
		return nil, err
	}
	d := &Dir{root: root, lock: lock}
	if err := d.finishReplacing(); err != nil {
		_ = d.Close()
		return nil, err
	}
	for _, sub := range []string{d.PKI(), d.Logs(), d.Run(), d.Etcd(), d.Encryption(), d.Audit(), filepath.Dir(d.Kubeconfig(""))} {
		if err := makePrivate(sub); err != nil {
			_ = d.Close()
			return nil, err
		}
	}
	if err := d.dropBegun(); err != nil {
		_ = d.Close()
		return nil, err
	}
	return d, nil
}

// acquire takes the lock without waiting. The kernel releases it when the process ends, in whatever way.
func acquire(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("writing to the data directory: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		holder, _ := os.ReadFile(path)
		_ = f.Close()
		return nil, fmt.Errorf("%w: %q belongs to a running control plane, process %s",
			ErrInUse, filepath.Dir(path), strings.TrimSpace(string(holder)))
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteString(strconv.Itoa(os.Getpid()) + "\n")
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("locking %q: %w", path, err)
	}
	return f, nil
}

// makePrivate makes a directory that only its owner may enter, even if it existed with a wider mode: keys and the
// unauthenticated sockets of etcd rely on it.
func makePrivate(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("creating %q: %w", path, err)
	}
	if err := os.Chmod(path, 0o700); err != nil {
		return fmt.Errorf("closing %q to others: %w", path, err)
	}
	return nil
}

// Close releases the data directory.
func (d *Dir) Close() error { return d.lock.Close() }

// Etcd is the directory of the database.
func (d *Dir) Etcd() string { return filepath.Join(d.root, "etcd") }

// PKI is the directory of certificates and keys.
func (d *Dir) PKI() string { return filepath.Join(d.root, "pki") }

// Logs is the directory of the components' logs.
func (d *Dir) Logs() string { return filepath.Join(d.root, "logs") }

// Encryption is the directory of the keys that encrypt the database.
func (d *Dir) Encryption() string { return filepath.Join(d.root, "encryption") }

// Audit is the directory of the audit log.
func (d *Dir) Audit() string { return filepath.Join(d.root, "audit") }

// Run is the working directory of the components.
func (d *Dir) Run() string { return filepath.Join(d.root, "run") }

// SpaceFile is the file with the space of the database, which the hub exports to Prometheus.
func (d *Dir) SpaceFile() string { return filepath.Join(d.Run(), "database.json") }

// Kubeconfig is the path of a component's kubeconfig.
func (d *Dir) Kubeconfig(component string) string {
	return filepath.Join(d.root, "kubeconfigs", component+".kubeconfig")
}

// ClientPair is the file with the certificate and key of a component's kubeconfig; it is one file so that both are
// replaced together.
func (d *Dir) ClientPair(component string) string {
	return filepath.Join(d.root, "kubeconfigs", component+".pem")
}

// AdminKubeconfig is the default path of the administrator's kubeconfig.
func (d *Dir) AdminKubeconfig() string { return filepath.Join(d.root, "admin.kubeconfig") }
