package encryption

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"fairlead.dev/hub/machinery/controlplane/atomicfile"
)

// KeysName is the name of the key file in the encryption directory.
const KeysName = "keys.json"

// keyBytes is the length of a key.
const keyBytes = 32

// ErrNoKeys says that the directory has no keys.
var ErrNoKeys = errors.New("there are no keys of encryption")

// Key is a key that encrypts values in the database.
type Key struct {
	// Name is the name of the key, which prefixes each value that it encrypted.
	Name string `json:"name"`
	// Made is when it was generated.
	Made time.Time `json:"made"`
	// Secret is the key itself.
	Secret []byte `json:"secret"`
}

// Keys are the keys of a hub; the first encrypts, all decrypt.
type Keys []Key

// keyFile is the format of the key file.
type keyFile struct {
	Keys Keys `json:"keys"`
}

// ReadKeys reads the keys in a directory. It returns ErrNoKeys if there are none.
func ReadKeys(dir string) (Keys, error) {
	path := filepath.Join(dir, KeysName)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s", ErrNoKeys, path)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the keys of encryption: %w", err)
	}
	var file keyFile
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w; bring it back from a backup of the hub", path, err)
	}
	for _, key := range file.Keys {
		if key.Name == "" || len(key.Secret) != keyBytes {
			return nil, fmt.Errorf("%s is damaged: key %q has %d bytes instead of %d; bring it back from a backup of the hub", path, key.Name, len(key.Secret), keyBytes)
		}
	}
	if len(file.Keys) == 0 {
		return nil, fmt.Errorf("%s is damaged: it names no key; bring it back from a backup of the hub", path)
	}
	return file.Keys, nil
}

// Hashes returns hashes of the keys, in their order, to compare the keys of two directories without revealing them.
func (k Keys) Hashes() []string {
	out := make([]string, 0, len(k))
	for _, key := range k {
		sum := sha256.Sum256(key.Secret)
		out = append(out, key.Name+" (sha256:"+hex.EncodeToString(sum[:8])+")")
	}
	return out
}

// EnsureKeys returns the keys in a directory, and generates the first one if there is none. If the database was
// encrypted with keys before, it returns an error instead: new ones could not decrypt it.
func EnsureKeys(dir string, now time.Time) (Keys, error) {
	keys, err := ReadKeys(dir)
	if !errors.Is(err, ErrNoKeys) {
		return keys, err
	}
	if sealed, err := readDone(dir); err != nil || sealed.Key != "" {
		return nil, errors.Join(fmt.Errorf("%s is missing, and the database is encrypted with it (key %s): bring it back from a backup of the hub",
			filepath.Join(dir, KeysName), sealed.Key), err)
	}
	key, err := newKey(now)
	if err != nil {
		return nil, err
	}
	return Keys{key}, Keys{key}.write(dir)
}

// Rotate adds a new first key to a directory. The user who runs this must own the directory. A running control plane
// uses the key after its next start.
func Rotate(dir string, now time.Time) error {
	keys, err := ReadKeys(dir)
	if err != nil {
		return err
	}
	info, err := os.Stat(filepath.Join(dir, KeysName))
	if err != nil {
		return fmt.Errorf("looking at the keys of encryption: %w", err)
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && int(owner.Uid) != os.Geteuid() {
		return fmt.Errorf("the keys in %s belong to user %d, who could not read what this one writes: run it as the user of the hub, for example with `sudo -u '#%d'`",
			dir, owner.Uid, owner.Uid)
	}
	key, err := newKey(now)
	if err != nil {
		return err
	}
	return append(Keys{key}, keys...).write(dir)
}

// dropOld drops all keys but the first.
func (k Keys) dropOld(dir string) (Keys, error) {
	if len(k) <= 1 {
		return k, nil
	}
	return k[:1], k[:1].write(dir)
}

func newKey(now time.Time) (Key, error) {
	random := make([]byte, keyBytes+3)
	if _, err := rand.Read(random); err != nil {
		return Key{}, fmt.Errorf("making a key of encryption: %w", err)
	}
	now = now.UTC().Truncate(time.Second)
	// The random suffix keeps keys of two hubs apart that were generated on the same day.
	name := now.Format(time.DateOnly) + "-" + hex.EncodeToString(random[keyBytes:])
	return Key{Name: name, Made: now, Secret: random[:keyBytes]}, nil
}

func (k Keys) write(dir string) error {
	data, err := json.MarshalIndent(keyFile{Keys: k}, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the keys of encryption: %w", err)
	}
	return atomicfile.Write(filepath.Join(dir, KeysName), append(data, '\n'))
}
