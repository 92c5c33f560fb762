package backup

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlead.dev/hub/machinery/controlplane/database"
	"fairlead.dev/hub/machinery/controlplane/datadir"
)

// archive returns an archive with the given entries.
func archive(t *testing.T, c contents, entries map[string]string) []byte {
	t.Helper()
	files := map[string][]byte{}
	for name, text := range entries {
		if name != databaseName {
			files[name] = []byte(text)
		}
	}
	var out bytes.Buffer
	database := entries[databaseName]
	if err := c.write(&out, files, strings.NewReader(database), int64(len(database))); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestAnIncompleteBackupIsRefusedAndLeavesNothing(t *testing.T) {
	t.Parallel()
	sums, entries := map[string]string{}, map[string]string{}
	for _, name := range required() {
		entries[name] = "one"
		sums[name] = "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed" // of "one"
	}
	good := contents{Format: format, Taken: time.Unix(0, 0), SHA256: sums}
	changed := maps.Clone(entries)
	changed[secrets()[0]] = "two"
	newer := good
	newer.Format++
	fewer := good
	fewer.SHA256 = maps.Clone(sums)
	delete(fewer.SHA256, secrets()[1])
	more := good
	more.SHA256 = maps.Clone(sums)
	more.SHA256[portName] = sums[secrets()[0]]
	whole := archive(t, good, entries)
	bomb := maps.Clone(entries)
	bomb[secrets()[0]] = strings.Repeat("\x00", maxSmall+1)

	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":                                {nil, "no backup of a hub"},
		"something else":                         {[]byte("apiVersion: v1"), "no backup of a hub"},
		"a backup that was cut short":            {whole[:len(whole)/2], "backup"},
		"a backup that was changed":              {archive(t, good, changed), "does not have the checksum"},
		"a backup with more than memory has":     {archive(t, good, bomb), "which no key has"},
		"a backup of a later format":             {archive(t, newer, entries), "of another version"},
		"a backup without a key":                 {archive(t, fewer, entries), "lacks " + secrets()[1]},
		"a backup that lacks what it tells of":   {archive(t, more, entries), "ends without port"},
		"a whole one whose database is not etcd": {whole, "restoring the database"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			_, err := Restore(t.Context(), bytes.NewReader(test.data), dir)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("Restore() = %v, want an error with %q", err, test.want)
			}
			for _, sub := range []string{"etcd", "pki", "run"} {
				if left, _ := os.ReadDir(filepath.Join(dir, sub)); len(left) > 0 {
					t.Errorf("left in %s: %v", sub, left)
				}
			}
			d, err := datadir.Open(dir)
			if err != nil {
				t.Fatalf("a control plane cannot start there: %v", err)
			}
			_ = d.Close()
		})
	}
}

func TestNothingIsBackedUpOfAHubThatDoesNotRun(t *testing.T) {
	t.Parallel()
	err := Source{DataDir: t.TempDir()}.Take(t.Context(), &bytes.Buffer{})
	if !errors.Is(err, database.ErrNotRunning) {
		t.Errorf("Take() = %v, want ErrNotRunning", err)
	}
}
