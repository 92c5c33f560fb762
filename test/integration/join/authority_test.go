package join

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/bootstrap"
)

// authorities sets the certificate authorities named by the hub until the test ends.
func (h *hub) authorities(ctx context.Context, ca []byte) {
	h.t.Helper()
	info := &corev1.ConfigMap{}
	h.g.Expect(h.Get(ctx, client.ObjectKey{Namespace: "kube-public", Name: "cluster-info"}, info)).To(Succeed())
	before := info.DeepCopy()
	config := clientcmdapi.NewConfig()
	config.Clusters[""] = &clientcmdapi.Cluster{Server: h.config.Host, CertificateAuthorityData: ca}
	raw, err := clientcmd.Write(*config)
	h.g.Expect(err).NotTo(HaveOccurred())
	info.Data["kubeconfig"] = string(raw)
	h.g.Expect(h.Patch(ctx, info, client.MergeFrom(before))).To(Succeed())
}

func TestAnAgentFollowsTheHubToAnotherAuthority(t *testing.T) {
	h := newHub(t)
	ctx := t.Context()
	h.serve()
	j := h.keeps(ctx, "follows", 0)
	old := j.onDisk(h.g).CAData
	next := newAuthority(t)
	defer h.authorities(context.WithoutCancel(ctx), old)

	h.authorities(ctx, append(bytes.Clone(old), next...))
	keeping, cancel := context.WithCancel(ctx)
	done := j.keep(keeping)
	h.g.Eventually(func() string { return string(j.onDisk(h.g).CAData) }).WithTimeout(time.Minute).
		Should(And(ContainSubstring(strings.TrimSpace(string(old))), ContainSubstring(strings.TrimSpace(string(next)))))
	h.g.Expect(j.usedCertificate(ctx, h.g)).NotTo(BeEmpty())
	cancel()
	h.g.Eventually(done).WithTimeout(time.Minute).Should(Receive(BeNil()))

	// Once another authority is named first, it signs certificates: the agent renews its own long before it expires.
	before := j.onDisk(h.g).CertData
	h.authorities(ctx, append(bytes.Clone(next), old...))
	keeping, cancel = context.WithCancel(ctx)
	done = j.keep(keeping)
	h.g.Eventually(func() []byte { return j.onDisk(h.g).CertData }).WithTimeout(time.Minute).ShouldNot(Equal(before))
	cancel()
	h.g.Eventually(done).WithTimeout(time.Minute).Should(Receive(BeNil()))

	// Authorities that have not signed the hub's certificate are not accepted.
	h.authorities(ctx, next)
	keeping, cancel = context.WithCancel(ctx)
	done = j.keep(keeping)
	h.g.Consistently(func() string { return string(j.onDisk(h.g).CAData) }).WithTimeout(12 * time.Second).WithPolling(100 * time.Millisecond).
		Should(ContainSubstring(strings.TrimSpace(string(old))))
	cancel()
	h.g.Eventually(done).Should(Receive(BeNil()), "it writes to the test's directory no more")
}

func TestAnAgentAsksTheHubWhomToTrustOverTheConnectionThatItHas(t *testing.T) {
	h := newHub(t)
	ctx := t.Context()
	h.serve()
	j := h.keeps(ctx, "asks", 0)
	h.g.Expect(j.usedCertificate(ctx, h.g)).NotTo(BeEmpty())
	h.g.Expect(j.dials.Load()).To(BeEquivalentTo(1))

	// The other fields of the response show that the agent asked.
	told := h.config.Host + "," + "https://hub-b.example.com:6443"
	info := &corev1.ConfigMap{}
	h.g.Expect(h.Get(ctx, client.ObjectKey{Namespace: "kube-public", Name: "cluster-info"}, info)).To(Succeed())
	before := info.DeepCopy()
	info.Data[bootstrap.ServersKey] = strings.ReplaceAll(told, ",", "\n")
	h.g.Expect(h.Patch(ctx, info, client.MergeFrom(before))).To(Succeed())
	defer func() {
		after := info.DeepCopy()
		after.Data = before.Data
		h.g.Expect(h.Patch(context.WithoutCancel(ctx), after, client.MergeFrom(info))).To(Succeed())
	}()
	keeping, cancel := context.WithCancel(ctx)
	done := j.keep(keeping)
	h.g.Eventually(func() (string, error) {
		raw, err := os.ReadFile(filepath.Join(j.dir, "agent.json"))
		return string(raw), err
	}).WithTimeout(time.Minute).Should(ContainSubstring(told))
	h.g.Expect(j.dials.Load()).To(BeEquivalentTo(1), "the hub is connected to once")
	cancel()
	h.g.Eventually(done).WithTimeout(time.Minute).Should(Receive(BeNil()))
}

// newAuthority returns the certificate of an unused authority.
func newAuthority(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "next"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(day),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
