package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// TestADatabaseThatIsFullTakesWritesAgain updates one object until etcd refuses writes, which etcd alone would do
// forever.
func TestADatabaseThatIsFullTakesWritesAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "admin.kubeconfig")
	arguments := []string{"--profile=hub", "--data-dir=" + dir, "--unsafe-no-fsync", "--database-quota=25165824"}
	const most = 100 // of a megabyte each

	p := start(t, append(arguments, "--upkeep-interval=1h")...)
	api, _ := p.ready(t, kubeconfig)
	var refused error
	for n := 0; refused == nil; n++ {
		if n == most {
			t.Fatal("the database does not become full")
		}
		refused = overwrite(t.Context(), api)
	}
	if !strings.Contains(refused.Error(), "database space exceeded") {
		t.Fatal(refused)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.wait(t)

	// At its start a hub makes room before anything is written.
	p = start(t, append(arguments, "--upkeep-interval=1s")...)
	api, _ = p.ready(t, kubeconfig)
	if said := p.stderr.String(); !strings.Contains(said, "the database takes writes again") {
		t.Errorf("it said %s", said)
	}
	// A running hub makes room too, any number of times.
	for range most {
		eventually(t, "the object to be changed", func(ctx context.Context) (bool, error) {
			err := overwrite(ctx, api)
			return err == nil, err
		})
	}
}

// overwrite fills a ConfigMap with a megabyte of new data.
func overwrite(ctx context.Context, api kubernetes.Interface) error {
	data := make([]byte, 1<<19)
	_, _ = rand.Read(data) // never fails
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "changing"}, Data: map[string]string{"value": hex.EncodeToString(data)}}
	maps := api.CoreV1().ConfigMaps(metav1.NamespaceDefault)
	_, err := maps.Update(ctx, cm, metav1.UpdateOptions{})
	if err == nil || !strings.Contains(err.Error(), "not found") {
		return err
	}
	_, err = maps.Create(ctx, cm, metav1.CreateOptions{})
	return err
}
