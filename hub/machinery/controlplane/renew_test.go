package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// TestAHubThatIsLeftAloneHasGoodCertificates runs a hub for longer than its certificates are valid.
func TestAHubThatIsLeftAloneHasGoodCertificates(t *testing.T) {
	t.Parallel()
	const validity = 30 * time.Second
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "admin.kubeconfig")
	p := start(t, "--profile=hub", "--data-dir="+dir, "--unsafe-no-fsync", "--certificate-validity="+validity.String(), "--upkeep-interval=1s")
	p.ready(t, kubeconfig)
	first, err := os.ReadFile(filepath.Join(dir, "pki", "apiserver.crt"))
	if err != nil {
		t.Fatal(err)
	}
	// The hub has read this file at its start.
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "kubeconfigs", "hub.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	until := time.Now().Add(validity + validity/3)
	eventually(t, "the certificates of the start to end", func(context.Context) (bool, error) { return time.Now().After(until), nil })
	if now, err := os.ReadFile(filepath.Join(dir, "pki", "apiserver.crt")); err != nil || bytes.Equal(now, first) {
		t.Errorf("the certificate is that of the start, %v", err)
	}
	eventually(t, "the hub to write over a new connection", func(ctx context.Context) (bool, error) {
		api, err := kubernetes.NewForConfig(config)
		if err != nil {
			return false, err
		}
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "late-"}}
		_, err = api.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(ctx, cm, metav1.CreateOptions{})
		return err == nil, err
	})
	p.ready(t, kubeconfig)
}
