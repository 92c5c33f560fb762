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

// KeysName is the name of the file of keys in the directory of the encryption.
const KeysName = "keys.json"

// keyBytes is how long a key is.
const keyBytes = 32

// ErrNoKeys says that there are no keys.
var ErrNoKeys = errors.New("there are no keys of encryption")

// Key encrypts values in the database.
type Key struct {
	// Name stands before each value that the key encrypted.
	Name string `json:"name"`
	// Made is when.
	Made time.Time `json:"made"`
	// Secret is the key itself.
	Secret []byte `json:"secret"`
}

// Keys are the keys of a hub; the first encrypts, all decrypt.
type Keys []Key

// keyFile is how they are written.
type keyFile struct {
	Keys Keys `json:"keys"`
}

// ReadKeys returns the keys of a directory, or ErrNoKeys.
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

// Hashes tell the keys of two directories apart, and tell nothing of them; they are in the order of the keys.
func (k Keys) Hashes() []string {
	out := make([]string, 0, len(k))
	for _, key := range k {
		sum := sha256.Sum256(key.Secret)
		out = append(out, key.Name+" (sha256:"+hex.EncodeToString(sum[:8])+")")
	}
	return out
}

// EnsureKeys returns the keys of a directory, and makes the first if there is none. It does not where all was encrypted with
// keys once: new ones could not decrypt it.
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

// Rotate puts a new key before those of a directory, which belong to the user who runs this. A control plane that runs goes by it when it
// is started again.
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

// dropOld forgets all but the first.
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
	// Two hubs that made theirs on one day do not take each other's for their own.
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
