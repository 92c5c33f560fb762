package entry

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// Version is the version of the file format. Files of any other version are not read.
const Version = 1

const (
	magic  = "fairlead-journal"
	plain  = "plain"
	sealed = "aes-256-gcm"
	// keyWord precedes the key's fingerprint at the end of the header of a sealed file. Agents that do not know it
	// ignore it.
	keyWord = " key="
	// fingerprintBytes is the length of the fingerprint in bytes.
	fingerprintBytes = 4
)

// Reasons why a file cannot be used.
var (
	// ErrForeign means that the file is not the journal's, or has a version that this agent does not know.
	ErrForeign = errors.New("it is not a journal of this version")
	// ErrTorn means that the file was not written completely, or was changed since.
	ErrTorn = errors.New("it is torn: its checksum does not match")
	// ErrKey means that the file is sealed with another key than the agent's.
	ErrKey = errors.New("it is sealed with another key")
	// ErrUnsealed means that the file is not sealed although the agent has a key, so anybody who can write to the
	// disk may have made it.
	ErrUnsealed = errors.New("it is not sealed, and this agent has a key: whoever can write to the disk may have made it")
)

// Key seals the files; a nil Key leaves them in plain text.
type Key []byte

// KeyOf derives a key from a secret; it is nil for an empty secret.
func KeyOf(secret []byte) Key {
	if len(bytes.TrimSpace(secret)) == 0 {
		return nil
	}
	return NewKey(secret)
}

// NewKey derives a key from a secret of any length.
func NewKey(secret []byte) Key {
	sum := sha256.Sum256(append([]byte(magic+"\n"), bytes.TrimSpace(secret)...))
	return sum[:]
}

// Fingerprint tells keys apart for people. It is in the header of sealed files, and reveals nothing about the secret.
func (k Key) Fingerprint() string {
	sum := sha256.Sum256(append([]byte(magic+" fingerprint\n"), k...))
	return hex.EncodeToString(sum[:fingerprintBytes])
}

// otherKey returns an ErrKey that names the fingerprint of the key that the file needs, if its header has one: older
// agents wrote none.
func otherKey(line string, key Key) error {
	given := "there is none"
	if key != nil {
		given = "the given key has the fingerprint " + key.Fingerprint()
	}
	_, of, ok := strings.Cut(line, keyWord)
	if raw, err := hex.DecodeString(of); !ok || err != nil || len(raw) != fingerprintBytes {
		return fmt.Errorf("%w: %s", ErrKey, given)
	}
	return fmt.Errorf("%w, of the fingerprint %s: %s", ErrKey, of, given)
}

// Member identifies the member that a journal belongs to.
type Member struct {
	// Cluster is the name of the member on the hub.
	Cluster string `json:"cluster"`
	// Namespace is the execution namespace, where its Works are.
	Namespace string `json:"namespace"`
}

// Record is the journal's content for one Work.
type Record struct {
	// Work is the Work as last seen.
	Work *workv1alpha1.Work `json:"work"`
	// Absent says that the hub had no such Work when it was last read, although it never asked for the Work's
	// deletion.
	Absent bool `json:"absent,omitempty"`
}

// Encode returns the content of the file with this name.
func Encode(name string, value any, key Key) ([]byte, error) {
	content, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encoding %q for the journal: %w", name, err)
	}
	how, with := plain, ""
	if key != nil {
		how, with = sealed, keyWord+key.Fingerprint()
		if content, err = seal(name, content, key); err != nil {
			return nil, err
		}
	}
	sum := sha256.Sum256(content)
	line := fmt.Sprintf("%s %d %s sha256=%s length=%d%s\n", magic, Version, how, hex.EncodeToString(sum[:]), len(content), with)
	return append([]byte(line), content...), nil
}

// Decode decodes the content of the file with this name. With a key it accepts only files sealed with that key.
func Decode(name string, text []byte, key Key, value any) error {
	line, content, ok := bytes.Cut(text, []byte("\n"))
	if !ok {
		if len(text) == 0 || strings.HasPrefix(magic, string(text[:min(len(text), len(magic))])) {
			return ErrTorn
		}
		return ErrForeign
	}
	var version, length int
	var how, sum string
	if _, err := fmt.Sscanf(string(line), magic+" %d %s sha256=%s length=%d", &version, &how, &sum, &length); err != nil || version != Version {
		return ErrForeign
	}
	got := sha256.Sum256(content)
	if len(content) != length || hex.EncodeToString(got[:]) != sum {
		return ErrTorn
	}
	switch {
	case how == sealed && key == nil:
		return otherKey(string(line), key)
	case how == sealed:
		var err error
		if content, err = open(name, content, key); errors.Is(err, ErrKey) {
			return otherKey(string(line), key)
		}
		if err != nil {
			return err
		}
	case how != plain:
		return ErrForeign
	case key != nil:
		return ErrUnsealed
	}
	if err := json.Unmarshal(content, value); err != nil {
		return ErrForeign
	}
	return nil
}

func seal(name string, content []byte, key Key) ([]byte, error) {
	box, err := newBox(key)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, box.NonceSize(), box.NonceSize()+len(content)+box.Overhead())
	if _, err := rand.Read(nonce); err != nil {
		return nil, fmt.Errorf("sealing %q for the journal: %w", name, err)
	}
	return box.Seal(nonce, nonce, content, []byte(name)), nil
}

func open(name string, content []byte, key Key) ([]byte, error) {
	box, err := newBox(key)
	if err != nil {
		return nil, err
	}
	if len(content) < box.NonceSize() {
		return nil, ErrTorn
	}
	out, err := box.Open(nil, content[:box.NonceSize()], content[box.NonceSize():], []byte(name))
	if err != nil {
		return nil, ErrKey
	}
	return out, nil
}

func newBox(key Key) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("using the key of the journal: %w", err)
	}
	box, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("using the key of the journal: %w", err)
	}
	return box, nil
}
