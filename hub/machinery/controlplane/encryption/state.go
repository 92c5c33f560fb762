package encryption

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"fairlead.dev/hub/machinery/controlplane/atomicfile"
)

const (
	configName = "config.yaml"
	sealedName = "sealed.json"
)

// State is the state of a data directory's encryption.
type State struct {
	dir   string
	given string
	keys  Keys
	// Config is kube-apiserver's configuration.
	Config Config
	// Done says that everything is encrypted according to Config.
	Done bool
}

// Open returns the state of a directory, and generates keys if there are none. Given is the path of the operator's
// configuration, or empty.
func Open(dir, given string, now time.Time) (*State, error) {
	keys, err := EnsureKeys(dir, now)
	if err != nil {
		return nil, err
	}
	s := &State{dir: dir, given: given, keys: keys}
	return s, s.look()
}

// look renders and writes the configuration, and determines whether everything is encrypted according to it.
func (s *State) look() (err error) {
	if s.given == "" {
		s.Config, err = OwnConfig(s.keys)
	} else {
		s.Config, err = OperatorConfig(s.given, s.keys)
	}
	if err != nil {
		return err
	}
	if err := atomicfile.Write(s.Path(), s.Config.Data); err != nil {
		return err
	}
	note, err := readDone(s.dir)
	s.Done = err == nil && note.Digest == s.Config.Digest
	return err
}

// Path is the path of the configuration file.
func (s *State) Path() string { return filepath.Join(s.dir, configName) }

// Finish drops keys that are no longer used, and records that everything is encrypted according to the configuration.
func (s *State) Finish() (err error) {
	if s.keys, err = s.keys.dropOld(s.dir); err != nil {
		return err
	}
	if err := s.look(); err != nil {
		return err
	}
	data, err := json.Marshal(sealed{Digest: s.Config.Digest, Key: s.keys[0].Name})
	if err != nil {
		return fmt.Errorf("noting what is encrypted: %w", err)
	}
	s.Done = true
	return atomicfile.Write(filepath.Join(s.dir, sealedName), data)
}

// WasEncrypted says whether a database was encrypted with the keys of a directory before.
func WasEncrypted(dir string) (bool, error) {
	note, err := readDone(dir)
	return note.Key != "", err
}

func readDone(dir string) (sealed, error) {
	data, err := os.ReadFile(filepath.Join(dir, sealedName)) //nolint:gosec // the path is our own
	if errors.Is(err, fs.ErrNotExist) {
		return sealed{}, nil
	}
	if err != nil {
		return sealed{}, fmt.Errorf("reading what was encrypted: %w", err)
	}
	return decodeSealed(data)
}

// Describe describes for people how a directory is encrypted, and what to do.
func Describe(dir string) (string, error) {
	keys, err := ReadKeys(dir)
	if errors.Is(err, ErrNoKeys) {
		return "", fmt.Errorf("%w: a hub of this version makes them when it starts: name its data directory with --data-dir", err)
	}
	if err != nil {
		return "", err
	}
	note, err := readDone(dir)
	if err != nil {
		return "", err
	}
	out := fmt.Sprintf("Key %s, made at %s, encrypts.\n", keys[0].Name, keys[0].Made.Format(time.RFC3339))
	for _, old := range keys[1:] {
		out += fmt.Sprintf("Key %s, made at %s, is kept to decrypt what is encrypted with it.\n", old.Name, old.Made.Format(time.RFC3339))
	}
	if note.Key == keys[0].Name && len(keys) == 1 {
		return out + "Secrets, ConfigMaps, Works and override policies in the database are encrypted, and no copy of before is left in it.", nil
	}
	return out + "Restart `hub serve`: it encrypts everything with the first key and drops the others.", nil
}
