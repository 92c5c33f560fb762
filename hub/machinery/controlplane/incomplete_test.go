package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// kill ends a control plane as a power failure would, and waits until all its processes are gone.
func (p *program) kill(t *testing.T, dir string) {
	t.Helper()
	_ = p.cmd.Process.Kill()
	<-p.exited
	eventually(t, "all processes of a killed control plane to go", func(context.Context) (bool, error) {
		left := processes(t, dir)
		return len(left) == 0, fmt.Errorf("left: %q", left)
	})
}

// TestAHubThatLostAPartDoesNotBeginAnew removes each part of a hub's data directory in turn.
func TestAHubThatLostAPartDoesNotBeginAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kubeconfig, away := filepath.Join(dir, "admin.kubeconfig"), filepath.Join(t.TempDir(), "away")
	arguments := []string{"--profile=hub", "--data-dir=" + dir, "--unsafe-no-fsync"}

	// A first start that is killed is completed by the next one.
	for _, made := range []string{"encryption/keys.json", "pki/ca.key", "pki/front-proxy-ca.crt", "etcd/member", "encryption/sealed.json"} {
		p := start(t, arguments...)
		eventually(t, made+" to be made", func(context.Context) (bool, error) {
			select {
			case <-p.exited:
				t.Fatalf("the control plane ended before it made %s; it said:\n%s", made, p.stderr)
			default:
			}
			_, err := os.Stat(filepath.Join(dir, made))
			return err == nil, err
		})
		p.kill(t, dir)
	}

	p := start(t, arguments...)
	p.ready(t, kubeconfig)
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.wait(t)

	key, err := os.ReadFile(filepath.Join(dir, "pki", "ca.key"))
	if err != nil {
		t.Fatal(err)
	}
	for gone, named := range map[string]string{"pki/ca.crt": "ca.crt", "pki": "sa.key", "etcd": filepath.Join(dir, "etcd")} {
		path := filepath.Join(dir, gone)
		if err := os.Rename(path, away); err != nil {
			t.Fatal(err)
		}
		p := start(t, arguments...)
		if status := p.wait(t); status != 1 {
			t.Errorf("without %s: exit status = %d, want 1", gone, status)
		}
		if said := p.stderr.String(); strings.Count(said, "\n") != 1 || !strings.Contains(said, named) || !strings.Contains(said, "hub restore") {
			t.Errorf("without %s it said %q, want one sentence that names %s and what to do", gone, said, named)
		}
		if err := os.RemoveAll(path); err != nil { // an empty directory
			t.Fatal(err)
		}
		if err := os.Rename(away, path); err != nil {
			t.Fatal(err)
		}
	}
	if now, err := os.ReadFile(filepath.Join(dir, "pki", "ca.key")); err != nil || !bytes.Equal(now, key) {
		t.Errorf("the key of the authority is another now, %v", err)
	}
	p = start(t, arguments...)
	p.ready(t, kubeconfig)
}
