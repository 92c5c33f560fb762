package apiserver

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/util/keyutil"

	"fairlead.dev/common/atomicfile"
	"fairlead.dev/hub/machinery/apiserver/authority"
)

// importMark is a file that exists during an import, and after one that was interrupted.
const importMark = "importing"

// transferKind identifies a file with an authority.
const transferKind = "FairleadHubAuthority"

// encryptionKeys is the file with the keys that encrypt the database.
const encryptionKeys = "encryption/keys.json"

// sharedFiles returns the files of a data directory that all hubs of one etcd must share. Everything that they issue
// derives from these.
func sharedFiles() []string {
	return []string{"pki/ca.key", "pki/ca.crt", "pki/front-proxy-ca.key", "pki/front-proxy-ca.crt", "pki/sa.key", encryptionKeys}
}

// Transfer has the identity and the encryption keys of a hub, to copy them to another machine. Whoever has it can
// impersonate the hub.
type Transfer struct {
	Kind string    `json:"kind"`
	Made time.Time `json:"made"`
	// From is the machine on which it was made.
	From string `json:"from"`
	// Files are the files of the data directory, by path.
	Files map[string][]byte `json:"files"`
}

// Export returns what another machine needs to be a hub of the same etcd.
func (a *Authorities) Export(now time.Time) (Transfer, error) {
	host, _ := os.Hostname() // only informative
	out := Transfer{Kind: transferKind, Made: now.UTC().Truncate(time.Second), From: host, Files: map[string][]byte{}}
	for _, name := range sharedFiles() {
		data, err := os.ReadFile(filepath.Join(filepath.Dir(a.dir), filepath.FromSlash(name)))
		if err != nil {
			return out, fmt.Errorf("reading what is to be exported: %w; start `hub serve` once, which makes it", err)
		}
		out.Files[name] = data
	}
	return out, out.check()
}

// Write creates a file with mode 0600. It does not overwrite an existing one.
func (t Transfer) Write(path string) error {
	data, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the authority: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // The operator names it.
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists: name another file, or move it away", path)
	}
	if err != nil {
		return fmt.Errorf("writing the authority: %w", err)
	}
	_, err = file.Write(append(data, '\n'))
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("writing the authority: %w", errors.Join(err, os.Remove(path)))
	}
	return nil
}

// largestTransfer is the maximum size of such a file in bytes.
const largestTransfer = 1 << 20

// ReadTransfer reads such a file. If others can read the file, it is refused: they could impersonate the hub unnoticed.
func ReadTransfer(path string) (Transfer, error) {
	var t Transfer
	file, err := os.Open(path) //nolint:gosec // the file that the operator names
	if err != nil {
		return t, fmt.Errorf("reading the file: %w", err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return t, fmt.Errorf("looking at the file: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return t, fmt.Errorf("%s may be read by others than its owner (mode %04o), and whoever has read it can be the hub: if nobody has, run `chmod 600 %s` and try again; "+
			"else exchange the authority and the keys of the hub", path, mode, path)
	}
	data, err := io.ReadAll(io.LimitReader(file, largestTransfer))
	if err != nil {
		return t, fmt.Errorf("reading the file: %w", err)
	}
	if err := json.Unmarshal(data, &t); err != nil || t.Kind != transferKind {
		return t, fmt.Errorf("%s is not a file that `hub ca export` wrote", path)
	}
	if err := t.check(); err != nil {
		return t, fmt.Errorf("%s is damaged: %w; make it anew with `hub ca export`", path, err)
	}
	return t, nil
}

// check returns an error that names what is missing.
func (t Transfer) check() error {
	for _, name := range sharedFiles() {
		if len(t.Files[name]) == 0 {
			return fmt.Errorf("it has no %s", name)
		}
	}
	if len(t.Files) != len(sharedFiles()) {
		return errors.New("it has more files than a hub knows")
	}
	for _, name := range []string{"pki/ca", "pki/front-proxy-ca"} {
		bundle, err := authority.Parse(t.Files[name+".crt"])
		if err != nil {
			return fmt.Errorf("%s.crt: %w", name, err)
		}
		for _, cert := range bundle {
			if _, err := authority.KeyOf(cert, t.Files[name+".key"]); err != nil {
				return fmt.Errorf("%s.key: %w", name, err)
			}
		}
	}
	if _, err := keyutil.ParsePrivateKeyPEM(t.Files["pki/sa.key"]); err != nil {
		return fmt.Errorf("pki/sa.key: %w", err)
	}
	_, err := t.keys()
	return err
}

// encryptionKeyBytes is the length of a key that encrypts the database.
const encryptionKeyBytes = 32

// keys returns the names of the keys that encrypt the database.
func (t Transfer) keys() ([]string, error) {
	var file struct {
		Keys []struct {
			Name   string `json:"name"`
			Secret []byte `json:"secret"`
		} `json:"keys"`
	}
	if err := json.Unmarshal(t.Files[encryptionKeys], &file); err != nil || len(file.Keys) == 0 {
		return nil, errors.New("it has no key of encryption")
	}
	names := make([]string, 0, len(file.Keys))
	for _, key := range file.Keys {
		if key.Name == "" || len(key.Secret) != encryptionKeyBytes {
			return nil, fmt.Errorf("%s: key %q has %d bytes instead of %d", encryptionKeys, key.Name, len(key.Secret), encryptionKeyBytes)
		}
		names = append(names, key.Name)
	}
	return names, nil
}

// Describe describes the content for people.
func (t Transfer) Describe() string {
	var out strings.Builder
	fmt.Fprintf(&out, "Made on %s at %s. It contains, each with its key:\n", t.From, t.Made.Format(time.RFC3339))
	bundle, _ := authority.Parse(t.Files["pki/ca.crt"]) // valid: it was checked
	for i, cert := range bundle {
		role := "is trusted as well"
		if i == 0 {
			role = "signs what agents, administrators and servers show"
		}
		fmt.Fprintf(&out, "  certificate authority %s, until %s: %s\n", Describe(cert), validUntil(cert), role)
	}
	if proxy, err := authority.Parse(t.Files["pki/front-proxy-ca.crt"]); err == nil {
		fmt.Fprintf(&out, "  front-proxy authority %s, until %s\n", Describe(proxy[0]), validUntil(proxy[0]))
	}
	names, _ := t.keys() // valid: they were checked
	fmt.Fprintf(&out, "  the key that signs tokens of service accounts\n  the keys that encrypt the database: %s", strings.Join(names, ", "))
	return out.String()
}

func validUntil(cert *x509.Certificate) string { return cert.NotAfter.Format(time.DateOnly) }

// Import writes an authority to a data directory in which no hub runs. It returns false if the directory has it
// already. An existing other authority is kept unless replace is set.
func Import(ctx context.Context, t Transfer, dataDir string, replace bool) (bool, error) {
	if err := CheckOwner(dataDir); err != nil {
		return false, err
	}
	held, err := acquire(ctx, dataDir)
	if err != nil {
		return false, err
	}
	defer func() { _ = held.Close() }()
	pki := filepath.Join(dataDir, "pki")
	if err := os.MkdirAll(pki, 0o700); err != nil {
		return false, unwritableError(dataDir, err)
	}
	exchange, err := lockExchange(pki)
	if err != nil {
		return false, err
	}
	defer func() { _ = exchange.Close() }()
	if _, err := os.Stat(filepath.Join(dataDir, "etcd", "member")); err == nil {
		return false, fmt.Errorf("%s has a database of its own, which goes with the authority that is there: name another directory with --data-dir, for a hub with --etcd-servers", dataDir)
	}
	unfinished := hasMark(dataDir)
	switch has, same, err := t.in(dataDir); {
	case err != nil:
		return false, err
	case same && !unfinished:
		return false, nil
	case has && !same && !unfinished && !replace:
		return false, fmt.Errorf("%s has another authority: with --replace it is given up, and whoever was joined by it has to join again unless other hubs have it", dataDir)
	}
	return true, t.put(dataDir)
}

// in says whether a data directory has an authority, and whether it is this one.
func (t Transfer) in(dataDir string) (has, same bool, err error) {
	same = true
	for _, name := range sharedFiles() {
		data, err := os.ReadFile(filepath.Join(dataDir, filepath.FromSlash(name))) //nolint:gosec // our own files in the operator's directory
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, false, fmt.Errorf("looking for an authority: %w", err)
		}
		has = has || err == nil
		same = same && string(data) == string(t.Files[name])
	}
	return has, same, nil
}

// put writes the files. A hub that starts in the meantime, or after an interrupted import, refuses to run.
func (t Transfer) put(dataDir string) error {
	if err := replace(filepath.Join(dataDir, importMark), []byte("An authority is being imported to this directory.\n")); err != nil {
		return err
	}
	for _, name := range sharedFiles() {
		path := filepath.Join(dataDir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return unwritableError(dataDir, err)
		}
		if err := replace(path, t.Files[name]); err != nil {
			return err
		}
	}
	if err := os.Remove(filepath.Join(dataDir, importMark)); err != nil {
		return fmt.Errorf("finishing the import: %w", err)
	}
	if err := atomicfile.SyncDirectory(dataDir); err != nil {
		return fmt.Errorf("writing to %s: %w", dataDir, err)
	}
	return nil
}

// CheckOwner returns an error if the owner of a data directory could not read what this user writes to it.
func CheckOwner(dataDir string) error {
	info, err := os.Stat(dataDir)
	if err != nil {
		return nil //nolint:nilerr // It will be created, owned by this user.
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && int(owner.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d, who could not read what this one writes: run it as the user of the hub, for example with `sudo -u '#%d'`", dataDir, owner.Uid, owner.Uid)
	}
	return nil
}

func hasMark(dataDir string) bool {
	_, err := os.Stat(filepath.Join(dataDir, importMark))
	return err == nil
}

// errImporting says that a data directory has only a part of an authority.
func errImporting(dataDir string) error {
	return fmt.Errorf("importing an authority to %s was interrupted: run `hub ca import` again", dataDir)
}
