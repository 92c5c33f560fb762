package join

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"fairlead.dev/agent/registration"
	testcluster "fairlead.dev/test/cluster"
)

// TestTheHubIsToldOfWhatThePodAfterThisOneWillHave keeps credentials in a member that rejects them at first.
func TestTheHubIsToldOfWhatThePodAfterThisOneWillHave(t *testing.T) {
	h := newHub(t)
	ctx := t.Context()
	h.serve()
	dir := h.keeps(ctx, "mirrors", 0).dir
	member := testcluster.Shared(t, testcluster.Options{Profile: testcluster.Hub}).Config
	open := func(dir string) *registration.Credentials {
		t.Helper()
		store, err := registration.OpenSecretStore(member, corev1.NamespaceDefault+"/mirrors")
		h.g.Expect(err).NotTo(HaveOccurred())
		if files, err := registration.Files(dir); err != nil || len(files) == 0 {
			h.g.Expect(store.Restore(ctx, dir, "")).To(Succeed())
		}
		c, err := registration.OpenCredentials(registration.KeepOptions{
			StateDir: dir, Clock: clock.RealClock{}, Random: func() float64 { return 1 }, SecretStore: store,
		})
		h.g.Expect(err).NotTo(HaveOccurred())
		return c
	}
	trusts := func(c *registration.Credentials) func() []string {
		return func() []string {
			all, _ := c.Trust()
			return all
		}
	}

	refused := open(dir)
	keeping, cancel := context.WithCancel(ctx)
	kept := make(chan error, 1)
	go func() { kept <- refused.Keep(keeping) }()
	h.g.Consistently(trusts(refused), time.Second, 50*time.Millisecond).Should(BeEmpty(), "there is no Secret to keep it in")
	cancel()
	h.g.Expect(<-kept).To(Succeed())

	h.g.Expect(h.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceDefault, Name: "mirrors"}})).To(Succeed())
	taken := open(dir)
	h.g.Expect(trusts(taken)()).To(BeEmpty(), "nobody looked yet")
	keeping, cancel = context.WithCancel(ctx)
	go func() { kept <- taken.Keep(keeping) }()
	h.g.Eventually(trusts(taken), time.Minute, 50*time.Millisecond).Should(Equal(h.hashes))
	cancel()
	h.g.Expect(<-kept).To(Succeed())

	h.g.Expect(trusts(open(filepath.Join(t.TempDir(), "state")))()).To(Equal(h.hashes), "the next pod begins with what the Secret has")
}
