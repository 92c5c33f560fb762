package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/lease"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.uber.org/zap"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/storage/value"

	"fairlead.dev/hub/machinery/controlplane/datadir"
	"fairlead.dev/hub/machinery/controlplane/encryption"
	"fairlead.dev/hub/machinery/controlplane/pki"
)

// hub is the content of a backup.
type hub struct {
	files    map[string][]byte
	database []byte
}

// makeHub creates new keys, and a database with the values and with the secrets, encrypted with those keys.
func makeHub(t *testing.T, now time.Time, values, secrets map[string]string) hub {
	t.Helper()
	root := t.TempDir()
	d, err := datadir.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	if _, err := pki.Ensure(d.PKI(), pki.Leaves{Hosts: []string{"127.0.0.1"}}, now); err != nil {
		t.Fatal(err)
	}
	state, err := encryption.Open(d.Encryption(), "", now)
	if err != nil {
		t.Fatal(err)
	}
	config, err := encryptionconfig.LoadEncryptionConfig(t.Context(), state.Path(), false, t.Name())
	if err != nil {
		t.Fatal(err)
	}
	transformer := encryptionconfig.StaticTransformers(config.Transformers).TransformerForResource(schema.GroupResource{Resource: "secrets"})
	values = maps.Clone(values)
	for key, text := range secrets {
		data, err := transformer.TransformToStorage(t.Context(), []byte(text), value.DefaultContext(key))
		if err != nil {
			t.Fatal(err)
		}
		values[key] = string(data)
	}
	files, err := readFiles(d)
	if err != nil {
		t.Fatal(err)
	}
	return hub{files: files, database: snapshotOf(t, values)}
}

// snapshotOf returns what etcd sends as a snapshot.
func snapshotOf(t *testing.T, values map[string]string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	b := backend.NewDefaultBackend(zap.NewNop(), path)
	store := mvcc.New(zap.NewNop(), b, &lease.FakeLessor{}, mvcc.StoreConfig{})
	for _, key := range slices.Sorted(maps.Keys(values)) {
		store.Put([]byte(key), []byte(values[key]), lease.NoLease)
	}
	store.Close()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return append(data, sum[:]...)
}

func (h hub) backup(t *testing.T, now time.Time, providers ...string) []byte {
	t.Helper()
	c := contents{Format: format, Taken: now, Version: "v1", Providers: providers, SHA256: map[string]string{}}
	sum := func(data []byte) string {
		s := sha256.Sum256(data)
		return hex.EncodeToString(s[:])
	}
	for name, data := range h.files {
		c.SHA256[name] = sum(data)
	}
	c.SHA256[databaseName] = sum(h.database)
	var out bytes.Buffer
	if err := c.write(&out, h.files, bytes.NewReader(h.database), int64(len(h.database))); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestABackupIsRestoredToBeVerified(t *testing.T) {
	t.Parallel()
	const secret, work, plain = "/registry/secrets/default/a", "/registry/work.karmada.io/works/karmada-es-edge-1/w", "/registry/deployments/default/d"
	now := time.Now()
	good := makeHub(t, now, map[string]string{plain: "spec"}, map[string]string{secret: "s3cret"})
	other := makeHub(t, now, map[string]string{plain: "spec"}, map[string]string{secret: "s3cret"})
	with := func(h hub, names ...string) hub {
		h.files = maps.Clone(h.files)
		for _, name := range names {
			h.files[name] = other.files[name]
		}
		return h
	}
	before := with(good)
	delete(before.files, keysName)
	before.database = snapshotOf(t, map[string]string{secret: "as it is", plain: "spec"})
	keyless := with(good)
	delete(keyless.files, keysName)
	foreign := with(good)
	foreign.database = snapshotOf(t, map[string]string{secret: "k8s:enc:kms:v2:vault:xyz", work: "k8s:enc:aescbc:v1:mine:xyz"})
	damaged := with(good)
	damaged.database = bytes.Clone(good.database)
	damaged.database[len(damaged.database)/2] ^= 1

	for name, test := range map[string]struct {
		data []byte
		want Verified
		err  string
	}{
		"one whose Secrets its own keys decrypt": {data: good.backup(t, now), want: Verified{Counts: encryption.Counts{Encrypted: 1}, Objects: 2}},
		"one of before anything was encrypted":   {data: before.backup(t, now), want: Verified{Counts: encryption.Counts{Plain: 1}, Objects: 2}},
		"one that providers of the operator's encrypt": {
			data: foreign.backup(t, now, "k8s:enc:aescbc:v1:mine:", "k8s:enc:kms:v2:vault:"),
			want: Verified{Counts: encryption.Counts{Foreign: 2}, Objects: 2, Providers: []string{"k8s:enc:aescbc:v1:mine:", "k8s:enc:kms:v2:vault:"}},
		},
		"with a provider of which it does not tell":       {data: foreign.backup(t, now, "k8s:enc:kms:v2:vault:"), err: work + " cannot be decrypted"},
		"with the keys of another hub":                    {data: with(good, keysName).backup(t, now), err: secret + " cannot be decrypted"},
		"encrypted, and without a key":                    {data: keyless.backup(t, now), err: secret + " is encrypted, and there is no key"},
		"with the key of another authority":               {data: with(good, "pki/ca.key").backup(t, now), err: "does not belong to certificate"},
		"with a database that was changed on the way":     {data: damaged.backup(t, now), err: "restoring the database"},
		"with an empty database":                          {data: hub{files: good.files, database: snapshotOf(t, nil)}.backup(t, now), err: "is empty"},
		"of which a part is missing":                      {data: good.backup(t, now)[:1000], err: "backup"},
		"whose authority has expired when it is restored": {data: makeHub(t, now.AddDate(-20, 0, 0), map[string]string{plain: "spec"}, nil).backup(t, now), err: "expired"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scratch := t.TempDir()
			got, err := Verify(t.Context(), bytes.NewReader(test.data), scratch, now)
			if left, _ := os.ReadDir(scratch); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("Verify() = %v, want an error with %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Counts != test.want.Counts || got.Objects != test.want.Objects || !slices.Equal(got.Providers, test.want.Providers) || !got.Taken.Equal(now) {
				t.Errorf("Verify() = %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestLeftoversOfAKilledVerificationAreRemoved(t *testing.T) {
	t.Parallel()
	now := time.Now()
	data := makeHub(t, now, map[string]string{"/registry/namespaces/default": "ns"}, nil).backup(t, now)
	scratch := t.TempDir()
	opened := func(name string) *datadir.Dir {
		t.Helper()
		d, err := datadir.OpenForRestore(filepath.Join(scratch, name))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	_ = opened(scratchPrefix + "killed").Close()
	running := opened(scratchPrefix + "running")
	defer func() { _ = running.Close() }()
	_ = opened("of-others").Close()
	victim := filepath.Join(scratch, "victim")
	planted := filepath.Join(scratch, scratchPrefix+"planted")
	if err := errors.Join(os.WriteFile(victim, []byte("stays"), 0o600), os.Mkdir(planted, 0o755), os.Symlink(victim, filepath.Join(planted, "lock"))); err != nil { //nolint:gosec // as another user might plant it
		t.Fatal(err)
	}
	if _, err := Verify(t.Context(), bytes.NewReader(data), scratch, now); err != nil {
		t.Fatal(err)
	}
	var left []string
	entries, _ := os.ReadDir(scratch)
	for _, entry := range entries {
		left = append(left, entry.Name())
	}
	if want := []string{scratchPrefix + "planted", scratchPrefix + "running", "of-others", "victim"}; !slices.Equal(left, want) {
		t.Errorf("left: %v, want %v", left, want)
	}
	if data, _ := os.ReadFile(victim); string(data) != "stays" {
		t.Errorf("a file to which somebody linked has become %q", data)
	}
}

func TestASnapshotIsTakenAgainWhenKeysWereExchangedMeanwhile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reads []string // the keys at each read; the last repeats
		takes int
		err   error
	}{
		"keys that stay":              {[]string{"old"}, 1, nil},
		"keys that change once":       {[]string{"old", "new"}, 2, nil},
		"keys that change all along":  {[]string{"1", "2", "3", "4", "5", "6", "7"}, attempts, errExchanged},
		"keys that change and change": {[]string{"old", "both", "new"}, 3, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reads, takes := 0, 0
			read := func() (map[string][]byte, error) {
				keys := test.reads[min(reads, len(test.reads)-1)]
				reads++
				return map[string][]byte{keysName: []byte(keys)}, nil
			}
			snapshot := func() (*os.File, error) {
				takes++
				return os.CreateTemp(t.TempDir(), "")
			}
			file, files, err := takeBoth(snapshot, read)
			if !errors.Is(err, test.err) || takes != test.takes {
				t.Fatalf("takeBoth() = %v after %d snapshots, want %v after %d", err, takes, test.err, test.takes)
			}
			if err == nil {
				_ = file.Close()
				if got, want := string(files[keysName]), test.reads[len(test.reads)-1]; got != want {
					t.Errorf("the keys are %q, want %q", got, want)
				}
			}
		})
	}
}

func TestAVerificationEndsWhenItIsAskedTo(t *testing.T) {
	t.Parallel()
	now := time.Now()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	data := makeHub(t, now, map[string]string{"/registry/namespaces/default": "ns"}, nil).backup(t, now)
	if _, err := Verify(ctx, bytes.NewReader(data), t.TempDir(), now); !errors.Is(err, context.Canceled) {
		t.Errorf("Verify() = %v, want that it was cancelled", err)
	}
}
