package backup

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"filippo.io/age"
)

// Recipients says for whom backups are sealed: whoever has the secret key of one of the recipients can read them, and nobody else, the hub
// included. The zero value seals nothing.
type Recipients struct {
	recipients []age.Recipient
	// hybrid says that the keys also withstand quantum computers; age does not mix them with others.
	hybrid bool
}

// ParseRecipients reads public keys, as `hub backup keygen` and age-keygen print them.
func ParseRecipients(keys []string) (Recipients, error) {
	var s Recipients
	for _, key := range keys {
		switch {
		case strings.HasPrefix(key, "AGE-SECRET-KEY-"):
			// Neither repeated nor taken: it would be in the list of processes.
			return s, errors.New("this is a secret key: name the public one, age1…, which stands in the file of the key, and keep the secret one away from the hub")
		case strings.HasPrefix(key, "age1pq1"):
			s.hybrid = true
		case !strings.HasPrefix(key, "age1"):
			return s, fmt.Errorf("%q is no public key such as age1…: `hub backup keygen` makes one", key)
		}
		parsed, err := age.ParseRecipients(strings.NewReader(key))
		if err != nil {
			return s, fmt.Errorf("%q is no public key such as age1…: is a part of it missing? (%w)", key, err)
		}
		s.recipients = append(s.recipients, parsed...)
	}
	if s.hybrid {
		for _, key := range keys {
			if !strings.HasPrefix(key, "age1pq1") {
				return s, errors.New("keys that begin with age1pq1 do not go together with others: use one kind of keys")
			}
		}
	}
	return s, nil
}

// Keys are secret keys, any of which may open a backup.
type Keys []age.Identity

// IsSealed says whether there is anybody for whom to seal.
func (s Recipients) IsSealed() bool { return len(s.recipients) > 0 }

// verificationKey returns a key that is in no file and ends with this process, and a Seal for it as well: what is sealed can be opened once more, by
// whoever has just sealed it, to see that it can be restored.
func (s Recipients) verificationKey() (Recipients, age.Identity, error) {
	if s.hybrid {
		key, err := age.GenerateHybridIdentity()
		if err != nil {
			return s, nil, fmt.Errorf("making a key: %w", err)
		}
		return s.with(key.Recipient()), key, nil
	}
	key, err := age.GenerateX25519Identity()
	if err != nil {
		return s, nil, fmt.Errorf("making a key: %w", err)
	}
	return s.with(key.Recipient()), key, nil
}

func (s Recipients) with(recipient age.Recipient) Recipients {
	return Recipients{recipients: append([]age.Recipient{recipient}, s.recipients...), hybrid: s.hybrid}
}

// write returns what seals, all of it once it is closed.
func (s Recipients) write(out io.Writer) (io.WriteCloser, error) {
	if !s.IsSealed() {
		return nopCloser{out}, nil
	}
	w, err := age.Encrypt(out, s.recipients...)
	if err != nil {
		return nil, fmt.Errorf("sealing the backup: %w", err)
	}
	return w, nil
}

type nopCloser struct{ io.Writer }

// Close implements io.Closer.
func (nopCloser) Close() error { return nil }

// intro is how each file begins that is sealed.
const intro = "age-encryption.org/"

var (
	// ErrSealed says that a backup is sealed, and there is no key.
	ErrSealed = errors.New("the backup is sealed")
	// ErrWrongKey says that a backup is sealed for others.
	ErrWrongKey = errors.New("the backup is sealed for other keys")
	// ErrDamaged says that a sealed backup is not as it was sealed.
	ErrDamaged = errors.New("the backup was cut short or changed since it was sealed")
)

// Open returns what is in a backup, sealed or not. What comes from it is as it was sealed; if it ends without an error, it is
// all that was.
func Open(in io.Reader, keys Keys) (io.Reader, error) {
	buffered := bufio.NewReader(in)
	head, err := buffered.Peek(len(intro))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading the backup: %w", err)
	}
	if !bytes.Equal(head, []byte(intro)) {
		return buffered, nil
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%w: name the file of its secret key with --key", ErrSealed)
	}
	opened, err := age.Decrypt(buffered, keys...)
	if _, other := errors.AsType[*age.NoIdentityMatchError](err); other {
		return nil, fmt.Errorf("%w than the one that was given: find the key whose public half --backup-recipient or --recipient named when it was made", ErrWrongKey)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return &unsealed{in: opened}, nil
}

// unsealed says of what cannot be read why.
type unsealed struct {
	in io.Reader
	// err is why it ended, if not at its end.
	err error
}

// Read implements io.Reader.
func (u *unsealed) Read(p []byte) (int, error) {
	n, err := u.in.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		u.err = fmt.Errorf("%w: %w", ErrDamaged, err)
		err = u.err
	}
	return n, err
}

// ReadKeys returns the secret keys of a file of a name.
func ReadKeys(file io.Reader, name string) (Keys, error) {
	keys, err := age.ParseIdentities(file)
	if err != nil {
		// What age says of it may repeat a line of the file.
		return nil, fmt.Errorf("%s holds no secret key of `hub backup keygen` or age-keygen (AGE-SECRET-KEY-1…); one that is protected by a passphrase is opened with `age -d` first", name)
	}
	return keys, nil
}

// NewKey returns a secret key as a file for whoever is to restore backups, and the public key for the hub.
func NewKey(now time.Time) (file []byte, public string, err error) {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, "", fmt.Errorf("making a key: %w", err)
	}
	public = key.Recipient().String()
	return fmt.Appendf(nil, "# created: %s\n# public key: %s\n%s\n", now.UTC().Format(time.RFC3339), public, key), public, nil
}
