package backup

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"time"

	"fairlead.dev/hub/machinery/controlplane/encryption"
	"fairlead.dev/hub/machinery/controlplane/pki"
)

const (
	// format must be incremented when older programs could not restore what this one writes.
	format = 1

	contentsName = "contents.json"
	databaseName = "etcd.db"
	portName     = "port"
	pkiName      = "pki"
	keysName     = "encryption/" + encryption.KeysName

	// maxSmall bounds what is read into memory, in bytes; keys and certificates have a few hundred.
	maxSmall = 1 << 20
)

// contents is the first entry of an archive.
type contents struct {
	// Format is the format of the archive.
	Format int `json:"format"`
	// Taken is when the snapshot was made.
	Taken time.Time `json:"taken"`
	// Version is the version of the program that made it.
	Version string `json:"version"`
	// Providers are the operator's own encryption providers that may have encrypted a part of the database: their keys
	// are not in the archive.
	Providers []string `json:"providers,omitempty"`
	// SHA256 has the checksums of all other entries, in hexadecimal.
	SHA256 map[string]string `json:"sha256"`
}

// secrets are the names of the entries that hold keys and certificates.
func secrets() []string {
	var out []string
	for _, name := range pki.Lasting() {
		out = append(out, path.Join(pkiName, name))
	}
	return out
}

// small returns the entries other than the database. Some are optional: a hub from before database encryption has no
// encryption keys.
func small() []string { return append(secrets(), portName, keysName) }

// required are the entries without which a control plane cannot be restored.
func required() []string { return append(secrets(), databaseName) }

// writer writes an archive.
type writer struct {
	zip *gzip.Writer
	tar *tar.Writer
	now time.Time
}

func newWriter(out io.Writer, now time.Time) (*writer, error) {
	zip, err := gzip.NewWriterLevel(out, gzip.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("compressing the backup: %w", err)
	}
	return &writer{zip: zip, tar: tar.NewWriter(zip), now: now}, nil
}

func (w *writer) add(name string, size int64, data io.Reader) error {
	err := w.tar.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o600, ModTime: w.now, Format: tar.FormatPAX})
	if err == nil {
		_, err = io.Copy(w.tar, data)
	}
	if err != nil {
		return fmt.Errorf("writing %s to the backup: %w", name, err)
	}
	return nil
}

func (w *writer) close() error { return errors.Join(w.tar.Close(), w.zip.Close()) }

// reader reads an archive and checks each entry.
type reader struct {
	contents

	tar  *tar.Reader
	seen map[string]bool
}

func newReader(in io.Reader) (*reader, error) {
	zip, err := gzip.NewReader(in)
	if err != nil {
		return nil, fmt.Errorf("this is no backup of a hub: %w", err)
	}
	r := &reader{tar: tar.NewReader(zip), seen: map[string]bool{}}
	header, err := r.tar.Next()
	if err != nil || header.Name != contentsName {
		return nil, errors.Join(errors.New("this is no backup of a hub: it does not begin with its contents"), err)
	}
	if err := json.NewDecoder(io.LimitReader(r.tar, maxSmall)).Decode(&r.contents); err != nil {
		return nil, fmt.Errorf("reading the contents of the backup: %w", err)
	}
	if r.Format != format {
		return nil, fmt.Errorf("the backup has format %d, and this program (which restores format %d) is of another version: use the one that made it, %q", r.Format, format, r.Version)
	}
	for _, name := range required() {
		if r.SHA256[name] == "" {
			return nil, fmt.Errorf("the backup lacks %s", name)
		}
	}
	return r, nil
}

// next returns the name and size of the next entry, or "" after the last one if none is missing. Small entries are
// checked against maxSmall whatever their content: they are read into memory.
func (r *reader) next() (name string, size int64, err error) {
	header, err := r.tar.Next()
	if errors.Is(err, io.EOF) {
		for name := range r.SHA256 {
			if !r.seen[name] {
				return "", 0, fmt.Errorf("the backup ends without %s: it was cut short", name)
			}
		}
		return "", 0, nil
	}
	if err != nil {
		return "", 0, fmt.Errorf("the backup is damaged: %w", err)
	}
	if r.SHA256[header.Name] == "" || r.seen[header.Name] {
		return "", 0, fmt.Errorf("the backup is damaged: it holds %q, of which its contents do not tell", header.Name)
	}
	if header.Name != databaseName && header.Size > maxSmall {
		return "", 0, fmt.Errorf("the backup is damaged: %q has %d bytes, which no key has", header.Name, header.Size)
	}
	r.seen[header.Name] = true
	return header.Name, header.Size, nil
}

// copy copies the entry, and fails if its checksum differs.
func (r *reader) copy(name string, to io.Writer) error {
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(to, sum), r.tar); err != nil {
		return fmt.Errorf("reading %s of the backup: %w", name, err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != r.SHA256[name] {
		return fmt.Errorf("the backup is damaged: %s does not have the checksum that it was written with", name)
	}
	return nil
}

// checksum returns the checksum and size of the rest of a file.
func checksum(file *os.File) (hexadecimal string, size int64, err error) {
	sum := sha256.New()
	if size, err = io.Copy(sum, file); err != nil {
		return "", 0, fmt.Errorf("reading %q: %w", file.Name(), err)
	}
	return hex.EncodeToString(sum.Sum(nil)), size, nil
}
