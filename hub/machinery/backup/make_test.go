package backup

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"
	. "github.com/onsi/gomega"
)

// secret is a text that no sealed file may contain.
const secret = "nobody may read this in a file; "

// of returns a database that is just a text. Verifying it finds one object, if it is complete.
func of(text string) Database {
	return Database{
		Take: func(_ context.Context, out io.Writer) error {
			_, err := io.Copy(out, strings.NewReader(text))
			return err
		},
		Verify: func(_ context.Context, in io.Reader) (*Verified, error) {
			got, err := io.ReadAll(in)
			if err != nil {
				return nil, err
			}
			if string(got) != text {
				return nil, errors.New("something is missing")
			}
			return &Verified{Objects: 1}, nil
		},
	}
}

// newKey returns a recipient, and the secret keys that open files sealed for it.
func newKey(t *testing.T) (Recipients, Keys) {
	t.Helper()
	g := NewWithT(t)
	file, public, err := NewKey(time.Unix(0, 0))
	g.Expect(err).NotTo(HaveOccurred())
	seal, err := ParseRecipients([]string{public})
	g.Expect(err).NotTo(HaveOccurred())
	keys, err := ReadKeys(bytes.NewReader(file), "the file")
	g.Expect(err).NotTo(HaveOccurred())
	return seal, keys
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	out := []string{}
	for _, entry := range entries {
		out = append(out, entry.Name())
	}
	return out
}

func TestASealedBackupIsReadWithItsKeyOnly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	seal, keys := newKey(t)
	_, others := newKey(t)
	text := strings.Repeat(secret, 10_000) // several chunks
	m := Maker{Database: of(text), Seal: seal}
	path := filepath.Join(t.TempDir(), "hub.backup.age")
	made, err := m.ToFile(t.Context(), path)
	g.Expect(err).NotTo(HaveOccurred())
	info, err := os.Stat(path)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o600)))
	g.Expect(made.Size).To(Equal(info.Size()))
	g.Expect(names(t, filepath.Dir(path))).To(ConsistOf("hub.backup.age"))
	_, err = m.ToFile(t.Context(), path)
	g.Expect(err).To(MatchError(ContainSubstring("exists")), "a backup is not overwritten")

	data, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bytes.Contains(data, []byte("nobody"))).To(BeFalse())
	var stream bytes.Buffer
	_, err = m.ToStream(t.Context(), &stream)
	g.Expect(err).NotTo(HaveOccurred())
	for _, sealed := range [][]byte{data, stream.Bytes()} {
		verified, err := m.Verify(t.Context(), bytes.NewReader(sealed), append(others, keys...))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(verified.Objects).To(Equal(1))
		_, err = m.Verify(t.Context(), bytes.NewReader(sealed), nil)
		g.Expect(err).To(MatchError(ErrSealed))
		_, err = m.Verify(t.Context(), bytes.NewReader(sealed), others)
		g.Expect(err).To(MatchError(ErrWrongKey))
	}
}

func TestASealedBackupThatWasCutShortOrChangedIsRefused(t *testing.T) {
	t.Parallel()
	seal, keys := newKey(t)
	text := strings.Repeat(secret, 10_000)
	m := Maker{Database: of(text), Seal: seal}
	var out bytes.Buffer
	_, err := m.ToStream(t.Context(), &out)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	data := out.Bytes()
	for name, at := range map[string]int{"in the head": 60, "in the first chunk": 1000, "in the middle": len(data) / 2, "at the last byte": len(data) - 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			changed := bytes.Clone(data)
			changed[at] ^= 1
			for what, damaged := range map[string][]byte{"cut short": data[:at], "changed": changed} {
				// A reader that stops early gets an error as well.
				for _, read := range []func(io.Reader) error{
					func(in io.Reader) error { _, err := io.ReadAll(in); return err },
					func(in io.Reader) error { _, err := io.ReadFull(in, make([]byte, 1)); return err },
					func(in io.Reader) error { _, _ = io.ReadAll(in); return errors.New("the program made nothing of it") },
				} {
					// If the header that lists the recipients is changed, no recipient matches any longer.
					g.Expect(WithOpened(bytes.NewReader(damaged), keys, read)).To(Or(MatchError(ErrDamaged), MatchError(ErrWrongKey)), what)
				}
			}
		})
	}
}

func TestABackupThatCannotBeRestoredIsNotKept(t *testing.T) {
	t.Parallel()
	seal, _ := newKey(t)
	stops := of("text")
	stops.Take = func(_ context.Context, out io.Writer) error {
		_, _ = io.WriteString(out, "te")
		return errors.New("the hub has stopped")
	}
	bad := of("text")
	bad.Verify = func(context.Context, io.Reader) (*Verified, error) { return nil, errors.New("no key decrypts it") }
	for name, tc := range map[string]struct {
		database Database
		want     string
	}{
		"a hub that stops meanwhile":       {stops, "the hub has stopped"},
		"a database that is not decrypted": {bad, "no key decrypts it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, s := range []Recipients{seal, {}} {
				g := NewWithT(t)
				m := Maker{Database: tc.database, Seal: s}
				dir := t.TempDir()
				_, err := m.ToFile(t.Context(), filepath.Join(dir, "hub.backup"))
				g.Expect(err).To(MatchError(ContainSubstring(tc.want)))
				g.Expect(names(t, dir)).To(BeEmpty())
				_, err = m.ToStream(t.Context(), io.Discard)
				g.Expect(err).To(MatchError(ContainSubstring(tc.want)))
			}
		})
	}
}

// inSmallDisk makes the test run again in its own mount namespace, where a directory is a disk of 256 KiB.
const inSmallDisk = "FAIRLEAD_TEST_SMALL_DISK"

func TestAFullDiskLeavesTheOldBackupsAndNoPartOfOne(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dir := os.Getenv(inSmallDisk)
	if dir == "" {
		again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		again.Env = append(os.Environ(), inSmallDisk+"="+t.TempDir())
		again.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		}
		out, err := again.CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(out))
		g.Expect(string(out)).To(ContainSubstring("--- PASS: "+t.Name()), "it ran")
		return
	}
	g.Expect(syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k")).To(Succeed())
	seal, keys := newKey(t)
	small := Maker{Database: of(strings.Repeat(secret, 3_000)), Seal: seal}
	_, err := small.ToFile(t.Context(), filepath.Join(dir, "old.backup"))
	g.Expect(err).NotTo(HaveOccurred())

	large := Maker{Database: of(strings.Repeat(secret, 100_000)), Seal: seal}
	_, err = large.ToFile(t.Context(), filepath.Join(dir, "new.backup"))
	g.Expect(err).To(MatchError(syscall.ENOSPC))
	g.Expect(err).To(MatchError(ContainSubstring("no space left on device")))
	g.Expect(names(t, dir)).To(ConsistOf("old.backup"))
	old, err := os.Open(filepath.Join(dir, "old.backup"))
	g.Expect(err).NotTo(HaveOccurred())
	_, err = small.Verify(t.Context(), old, keys)
	g.Expect(errors.Join(err, old.Close())).NotTo(HaveOccurred())
}

func TestPublicKeys(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, public, err := NewKey(time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	hybrid, err := age.GenerateHybridIdentity()
	g.Expect(err).NotTo(HaveOccurred())
	file, _, err := NewKey(time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	_, text, _ := strings.Cut(string(file), "\nAGE")
	for name, tc := range map[string]struct {
		keys []string
		want string
	}{
		"a part of one":         {[]string{public[:30]}, "is a part of it missing?"},
		"a secret key":          {[]string{"AGE" + strings.TrimSpace(text)}, "this is a secret key"},
		"a key of something":    {[]string{"ssh-ed25519 AAAA"}, "`hub backup keygen` makes one"},
		"keys of several kinds": {[]string{public, hybrid.Recipient().String()}, "one kind of keys"},
		"nothing":               {[]string{""}, "`hub backup keygen` makes one"},
	} {
		_, err := ParseRecipients(tc.keys)
		g.Expect(err).To(MatchError(ContainSubstring(tc.want)), name)
		g.Expect(err.Error()).NotTo(ContainSubstring("AGE-SECRET-KEY-1"), name)
	}

	seal, err := ParseRecipients([]string{hybrid.Recipient().String()})
	g.Expect(err).NotTo(HaveOccurred())
	path := filepath.Join(t.TempDir(), "hub.backup")
	_, err = Maker{Database: of("text"), Seal: seal}.ToFile(t.Context(), path)
	g.Expect(err).NotTo(HaveOccurred(), "a hub may be told of keys that withstand quantum computers")
	sealed, err := os.Open(path)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = Maker{Database: of("text")}.Verify(t.Context(), sealed, Keys{hybrid})
	g.Expect(errors.Join(err, sealed.Close())).NotTo(HaveOccurred())

	_, err = ReadKeys(strings.NewReader("AGE-SECRET-KEY-1MISTYPED"), "hub.key")
	g.Expect(err).To(MatchError(ContainSubstring("hub.key holds no secret key")))
	g.Expect(err.Error()).NotTo(ContainSubstring("MISTYPED"))
}
