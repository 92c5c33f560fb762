package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLogFileIsBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.log")
	log, err := newLogFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	log.max = 100
	for range 50 {
		if _, err := log.Write([]byte("0123456789\n")); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []string{path, path + ".1"} {
		info, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > log.max {
			t.Errorf("size of %s = %d, want at most %d", p, info.Size(), log.max)
		}
	}
}

func TestNewRunKeepsTheLogOfTheLast(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.log")
	for _, line := range []string{"first", "second"} {
		log, err := newLogFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = log.Write([]byte(line))
		_ = log.Close()
	}
	if got := tail(path+".1", 1); got != "first" {
		t.Errorf("log of the last run = %q, want first", got)
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.log")
	if err := os.WriteFile(path, []byte(strings.Repeat("noise\n", 10000)+"one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := tail(path, 2); got != "one\ntwo" {
		t.Errorf("tail() = %q, want the last two lines", got)
	}
	if got := tail(filepath.Join(t.TempDir(), "none"), 2); got != "" {
		t.Errorf("tail() of no file = %q, want nothing", got)
	}
}
