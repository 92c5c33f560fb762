package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kms/pkg/service"

	"fairlead.dev/hub/machinery/controlplane/backup"
)

// plugin is a KMS that reverses its input.
type plugin struct{}

func (plugin) Status(context.Context) (*service.StatusResponse, error) {
	return &service.StatusResponse{Version: "v2", Healthz: "ok", KeyID: "1"}, nil
}

func (plugin) Encrypt(_ context.Context, _ string, data []byte) (*service.EncryptResponse, error) {
	return &service.EncryptResponse{Ciphertext: reversed(data), KeyID: "1"}, nil
}

func (plugin) Decrypt(_ context.Context, _ string, req *service.DecryptRequest) ([]byte, error) {
	return reversed(req.Ciphertext), nil
}

func reversed(data []byte) []byte {
	data = slices.Clone(data)
	slices.Reverse(data)
	return data
}

// startPlugin serves a KMS on a socket, and returns a function that stops it.
func startPlugin(t *testing.T, socket string) (stop func()) {
	t.Helper()
	_ = os.Remove(socket) // left by one that was stopped
	s := service.NewGRPCService(socket, time.Second, plugin{})
	go func() { _ = s.ListenAndServe() }()
	t.Cleanup(s.Close)
	eventually(t, "the KMS to listen", func(context.Context) (bool, error) {
		_, err := os.Stat(socket)
		return err == nil, err
	})
	return s.Close
}

// TestAKMS has an operator's KMS encrypt Secrets, stop while the hub runs, and be away while it starts.
func TestAKMS(t *testing.T) {
	t.Parallel()
	scratch, err := os.MkdirTemp("/tmp", "fairlead-kms-") // the path of a unix socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(scratch) })
	socket, config := filepath.Join(scratch, "kms.sock"), filepath.Join(scratch, "encryption.yaml")
	given := fmt.Sprintf("apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n"+
		"  providers: [{kms: {apiVersion: v2, name: vault, endpoint: 'unix://%s', timeout: 1s}}]\n", socket)
	if err := os.WriteFile(config, []byte(given), 0o600); err != nil {
		t.Fatal(err)
	}
	stop := startPlugin(t, socket)
	dir, kubeconfig := filepath.Join(scratch, "hub"), filepath.Join(scratch, "hub.kubeconfig")
	arguments := []string{"--profile=hub", "--data-dir=" + dir, "--kubeconfig=" + kubeconfig, "--unsafe-no-fsync", "--encryption-provider-config=" + config}
	p := start(t, arguments...)
	api, _ := p.ready(t, kubeconfig)
	ctx := t.Context()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "kept"}, StringData: map[string]string{"a": "1"}}
	if _, err := api.CoreV1().Secrets("default").Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if found := verified(t, dir); found.Foreign == 0 || found.Encrypted == 0 || !slices.Equal(found.Providers, []string{"k8s:enc:kms:v2:vault:"}) {
		t.Errorf("found in a backup: %+v, want Secrets that the KMS encrypted, and ConfigMaps that the hub did", found)
	}

	// The KMS stops while the hub runs: what worked keeps working, and the API reports that it is unhealthy.
	stop()
	eventually(t, "the API to tell of the KMS", func(ctx context.Context) (bool, error) {
		said, err := api.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Raw()
		return err != nil && strings.Contains(string(said), "[-]kms-provider"), fmt.Errorf("it says %q", said)
	})
	if _, err := api.CoreV1().Secrets("default").Get(ctx, "kept", metav1.GetOptions{}); err != nil {
		t.Errorf("a Secret that was read before: %v", err)
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "later"}}
	if _, err := api.CoreV1().ConfigMaps("default").Create(ctx, cm, metav1.CreateOptions{}); err != nil {
		t.Errorf("what the KMS has nothing to do with: %v", err)
	}
	if found := verified(t, dir); found.Foreign == 0 {
		t.Errorf("found in a backup without the KMS: %+v", found)
	}

	// It is away while the hub starts: the hub waits, says for what, and continues by itself.
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.wait(t)
	p = start(t, arguments...)
	eventually(t, "a word about the KMS", func(context.Context) (bool, error) {
		said := p.stderr.String()
		return strings.Contains(said, "waiting for the KMS of --encryption-provider-config"), fmt.Errorf("it says %q", said)
	})
	startPlugin(t, socket)
	api, _ = p.ready(t, kubeconfig)
	if got, err := api.CoreV1().Secrets("default").Get(ctx, "kept", metav1.GetOptions{}); err != nil || string(got.Data["a"]) != "1" {
		t.Errorf("the Secret of before: %v, %v", got, err)
	}
}

// verified makes a backup and returns what its verification finds.
func verified(t *testing.T, dir string) backup.Verified {
	t.Helper()
	file := filepath.Join(t.TempDir(), "hub.backup")
	if p := start(t, "backup", "--data-dir", dir, file); p.wait(t) != 0 {
		t.Fatalf("backing up: %s", p.stderr)
	}
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	found, err := backup.Verify(t.Context(), in, t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return *found
}
