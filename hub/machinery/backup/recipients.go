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

// Recipients are the public keys for which backups are sealed: only the holders of their secret keys can read them, not
// even the hub. The zero value does not seal.
type Recipients struct {
	recipients []age.Recipient
	// hybrid says that the keys are post-quantum keys; age does not allow mixing them with others.
	hybrid bool
}

// ParseRecipients parses public keys, as `hub backup keygen` and age-keygen print them.
func ParseRecipients(keys []string) (Recipients, error) {
	var s Recipients
	for _, key := range keys {
		switch {
		case strings.HasPrefix(key, "AGE-SECRET-KEY-"):
			// Refused, and not repeated in the error: it would be visible in the process list and in logs.
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

// IsSealed says whether there are any recipients.
func (s Recipients) IsSealed() bool { return len(s.recipients) > 0 }

// verificationKey returns a key that exists only in this process, and the Recipients with it added: what is sealed for
// them can be opened once more to verify it.
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

// write returns a writer that seals; the result is complete once it is closed.
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

// intro starts every sealed file.
const intro = "age-encryption.org/"

var (
	// ErrSealed says that a backup is sealed, and no key was given.
	ErrSealed = errors.New("the backup is sealed")
	// ErrWrongKey says that a backup is sealed for other keys.
	ErrWrongKey = errors.New("the backup is sealed for other keys")
	// ErrDamaged says that a sealed backup was changed or truncated.
	ErrDamaged = errors.New("the backup was cut short or changed since it was sealed")
)

// Open returns a reader of the content of a backup, sealed or not. Everything that it returns is authentic; if it ends
// without an error, it is complete.
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

// unsealed records why opening failed.
type unsealed struct {
	in io.Reader
	// err is the error at which it ended before its end.
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

// ReadKeys reads the secret keys in a file with this name.
func ReadKeys(file io.Reader, name string) (Keys, error) {
	keys, err := age.ParseIdentities(file)
	if err != nil {
		// The error of age may repeat a line of the file.
		return nil, fmt.Errorf("%s holds no secret key of `hub backup keygen` or age-keygen (AGE-SECRET-KEY-1…); one that is protected by a passphrase is opened with `age -d` first", name)
	}
	return keys, nil
}

// NewKey returns a secret key as a file, for whoever restores backups, and the public key for the hub.
func NewKey(now time.Time) (file []byte, public string, err error) {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, "", fmt.Errorf("making a key: %w", err)
	}
	public = key.Recipient().String()
	return fmt.Appendf(nil, "# created: %s\n# public key: %s\n%s\n", now.UTC().Format(time.RFC3339), public, key), public, nil
}
