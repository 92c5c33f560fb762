package kubelet

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fairlead.dev/hub/machinery/controlplane/pki"
)

func TestTheCertificateIsTheOneOfNow(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	b, err := pki.Ensure(t.TempDir(), pki.Leaves{Kubelet: Address, KubeletClient: ClientName}, now)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{CertFile: b.KubeletCertFile(), KeyFile: b.KubeletKeyFile(), ClientCAFile: b.CAFile()}
	config, err := serving(o)
	if err != nil {
		t.Fatal(err)
	}
	shown := func() []byte {
		t.Helper()
		if len(config.Certificates) > 0 {
			return config.Certificates[0].Certificate[0]
		}
		pair, err := config.GetCertificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		return pair.Certificate[0]
	}
	first := shown()
	if err := b.Issue(now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	second := shown()
	if bytes.Equal(second, first) {
		t.Error("the certificate of the start is shown for ever")
	}

	// For a moment the new key is next to the old certificate.
	key, err := os.ReadFile(filepath.Join(filepath.Dir(o.KeyFile), "ca.key"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(o.KeyFile, key, 0o600); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(shown(), second) {
		t.Error("another certificate is shown than the last one")
	}

	o.CertFile = filepath.Join(t.TempDir(), "none")
	if _, err := serving(o); err == nil {
		t.Error("a kubelet without a certificate starts")
	}
}
