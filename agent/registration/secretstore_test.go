package registration

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/common/contract"
)

func TestAnAgentGoesByTheSecretIfItIsOfALaterJoinThanTheVolume(t *testing.T) {
	t.Parallel()
	const hub = "https://127.0.0.1:1"
	of := newAuthority(t, "hub")
	now := time.Now()
	// joined returns the files of an agent after a join; without any, the join was never finished.
	joined := func(t *testing.T, cluster, join string, from time.Time, more ...string) map[string][]byte {
		t.Helper()
		g := NewWithT(t)
		s := state{dir: t.TempDir()}
		g.Expect(s.claim(identity{Cluster: cluster, Server: hub})).To(Succeed())
		for _, name := range more {
			g.Expect(s.write(name, []byte(cluster))).To(Succeed())
		}
		if join != "" {
			raw, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
				SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: contract.AgentUser(cluster), Organization: []string{contract.AgentGroup, contract.JoinGroup(join)}},
				NotBefore: from, NotAfter: from.Add(time.Hour),
			}, of.cert, &of.key.PublicKey, of.key)
			g.Expect(err).NotTo(HaveOccurred())
			cert, err := x509.ParseCertificate(raw)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(s.keep(hub, cluster, encodeCertificate(of.cert), encodeCertificate(cert), of.key)).To(Succeed())
		}
		files, err := Files(s.dir)
		g.Expect(err).NotTo(HaveOccurred())
		return files
	}
	volume := joined(t, "edge-1", "a", now, retiredFile, renewalKeyFile)
	begun := joined(t, "edge-1", "", now, keyFile)
	for name, c := range map[string]struct {
		volume, secret map[string][]byte
		want           bool
	}{
		"a later join":                             {volume: volume, secret: joined(t, "edge-1", "b", now.Add(time.Hour)), want: true},
		"an earlier join":                          {volume: volume, secret: joined(t, "edge-1", "b", now.Add(-time.Hour))},
		"a later certificate of the same join":     {volume: volume, secret: joined(t, "edge-1", "a", now.Add(time.Hour))},
		"a later join of another cluster":          {volume: volume, secret: joined(t, "edge-2", "b", now.Add(time.Hour))},
		"a join that was begun and never finished": {volume: volume, secret: begun},
		"nothing": {volume: volume},
		"a join, and the volume one that has no end": {volume: begun, secret: joined(t, "edge-1", "b", now), want: true},
		"neither has a join that was finished":       {volume: begun, secret: begun},
		"a join, and the volume nothing":             {secret: joined(t, "edge-1", "b", now), want: true},
		"a damaged one":                              {volume: volume, secret: map[string][]byte{identityFile: volume[identityFile], KubeconfigFile: []byte("{")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			dir := t.TempDir()
			g.Expect(WriteFiles(dir, c.volume)).To(Succeed())
			g.Expect((state{dir: dir}).write(refusedFile, []byte(`"2026-01-01T12:00:00Z"`))).To(Succeed())
			key := types.NamespacedName{Namespace: "fairlead-system", Name: "agent"}
			member := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(
				&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Data: c.secret},
			).Build()
			m := &SecretStore{memberClient: member, key: key}
			g.Expect(m.Restore(t.Context(), dir, "")).To(Succeed())
			got, err := Files(dir)
			g.Expect(err).NotTo(HaveOccurred())
			refused, err := (state{dir: dir}).read(refusedFile)
			g.Expect(err).NotTo(HaveOccurred())
			if replaced := c.want && c.volume != nil; replaced {
				g.Expect(refused).To(BeNil(), "the hub refused another join")
			}
			if c.want {
				g.Expect(got).To(Equal(c.secret))
			} else {
				g.Expect(got).To(Equal(c.volume))
			}

			g.Expect(m.Save(t.Context(), dir)).To(Succeed())
			kept := &corev1.Secret{}
			g.Expect(member.Get(t.Context(), key, kept)).To(Succeed())
			if key := c.secret[keyFile]; key != nil {
				g.Expect(kept.Data).To(HaveKeyWithValue(keyFile, key), "who began a join goes on with it")
				delete(kept.Data, keyFile)
				delete(got, keyFile)
			}
			g.Expect(kept.Data).To(Equal(got))
		})
	}
}

func TestAnAgentWithAVolumeNeedsNoSecret(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m := &SecretStore{memberClient: fake.NewClientBuilder().WithScheme(scheme.Scheme).Build(), key: client.ObjectKey{Namespace: "fairlead-system", Name: "agent"}}
	dir := t.TempDir()
	g.Expect(m.Restore(t.Context(), dir, "")).NotTo(Succeed(), "it has nothing at all")
	g.Expect((state{dir: dir}).claim(identity{Cluster: "edge-1"})).To(Succeed())
	g.Expect(m.Restore(t.Context(), dir, "")).To(Succeed())
}

// TestAnAgentWithAVolumeStartsWhileItsMemberIsAway checks that registration works without the member's API, like the
// rest of the agent.
func TestAnAgentWithAVolumeStartsWhileItsMemberIsAway(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	away := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme.Scheme).Build(), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("dial tcp: connection refused")
		},
	})
	m := &SecretStore{memberClient: away, key: client.ObjectKey{Namespace: "fairlead-system", Name: "agent"}}
	dir := t.TempDir()
	g.Expect(m.Restore(t.Context(), dir, "")).NotTo(Succeed(), "it has nothing at all")
	g.Expect((state{dir: dir}).claim(identity{Cluster: "edge-1"})).To(Succeed())
	g.Expect(m.Restore(t.Context(), dir, "")).To(Succeed())
}

// TestTheKeyOfAJoinThatEndedBeginsNoOtherOne checks that a used key is not reused: a join with it would count as the
// same one, and copies of the key would keep their rights.
func TestTheKeyOfAJoinThatEndedBeginsNoOtherOne(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	of := newAuthority(t, "hub")
	s := state{dir: t.TempDir()}
	g.Expect(s.claim(identity{Cluster: "edge-1", Server: "https://127.0.0.1:1"})).To(Succeed())
	joinedWith, _, err := s.key(keyFile)
	g.Expect(err).NotTo(HaveOccurred())
	inSecret, err := Files(s.dir)
	g.Expect(err).NotTo(HaveOccurred())
	public, err := x509.MarshalPKIXPublicKey(&joinedWith.PublicKey)
	g.Expect(err).NotTo(HaveOccurred())
	// The certificate was renewed since, with another key.
	raw, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour),
		Subject: pkix.Name{CommonName: contract.AgentUser("edge-1"), Organization: []string{contract.AgentGroup, contract.JoinGroup(contract.JoinID(public))}},
	}, of.cert, &of.key.PublicKey, of.key)
	g.Expect(err).NotTo(HaveOccurred())
	renewed, err := x509.ParseCertificate(raw)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.keep("https://127.0.0.1:1", "edge-1", encodeCertificate(of.cert), encodeCertificate(renewed), of.key)).To(Succeed())

	begun, err := s.begunKey(keyFile)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(begun).To(BeNil())

	g.Expect(s.remove(keyFile)).To(Succeed())
	key := types.NamespacedName{Namespace: "fairlead-system", Name: "agent"}
	member := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Data: inSecret},
	).Build()
	m := &SecretStore{memberClient: member, key: key}
	g.Expect(m.Restore(t.Context(), s.dir, "")).To(Succeed())
	g.Expect(m.Save(t.Context(), s.dir)).To(Succeed())
	kept := &corev1.Secret{}
	g.Expect(member.Get(t.Context(), key, kept)).To(Succeed())
	g.Expect(kept.Data).NotTo(HaveKey(keyFile))
}

func TestAnAgentUndoesNoJoinThatItHasNotSeenWhateverTheClockOfTheHubSays(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	of := newAuthority(t, "hub")
	s := state{dir: t.TempDir()}
	g.Expect(s.claim(identity{Cluster: "edge-1", Server: "https://127.0.0.1:1"})).To(Succeed())
	now := time.Now()
	joins := func(join string, from time.Time) map[string][]byte {
		raw, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
			SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: from.Add(time.Hour),
			Subject: pkix.Name{CommonName: contract.AgentUser("edge-1"), Organization: []string{contract.AgentGroup, contract.JoinGroup(join)}},
		}, of.cert, &of.key.PublicKey, of.key)
		g.Expect(err).NotTo(HaveOccurred())
		cert, err := x509.ParseCertificate(raw)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(s.keep("https://127.0.0.1:1", "edge-1", encodeCertificate(of.cert), encodeCertificate(cert), of.key)).To(Succeed())
		files, err := Files(s.dir)
		g.Expect(err).NotTo(HaveOccurred())
		return files
	}
	earlier := joins("b", now.Add(-3*time.Hour))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "fairlead-system", Name: "agent"}, Data: joins("a", now)}
	member := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(secret).Build()
	m := &SecretStore{memberClient: member, key: client.ObjectKeyFromObject(secret)}
	g.Expect(m.Restore(t.Context(), s.dir, "")).To(Succeed())
	joins("c", now.Add(-2*time.Hour))
	g.Expect(m.Superseded(t.Context(), s.dir)).To(Succeed(), "it was called back by a hub whose clock is behind")
	g.Expect(m.Save(t.Context(), s.dir)).To(Succeed())

	g.Expect(member.Get(t.Context(), m.key, secret)).To(Succeed())
	secret.Data = earlier
	g.Expect(member.Update(t.Context(), secret)).To(Succeed())
	g.Expect(s.write(renewalKeyFile, []byte("k"))).To(Succeed())
	g.Expect(m.Superseded(t.Context(), s.dir)).To(MatchError(ErrJoinedAgain))
	g.Expect(m.Save(t.Context(), s.dir)).To(MatchError(ErrJoinedAgain))
	g.Expect(member.Get(t.Context(), m.key, secret)).To(Succeed())
	g.Expect(secret.Data).To(Equal(earlier))
}

func TestACertificateThatWasRenewedMeanwhileIsNotReplacedByTheOneBefore(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	of := newAuthority(t, "hub")
	s := state{dir: t.TempDir()}
	began := time.Now()
	issue := func(join string, who identity, serial int64) map[string][]byte {
		raw, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
			SerialNumber: big.NewInt(serial), NotBefore: began.Add(time.Duration(serial) * time.Minute), NotAfter: began.Add(time.Hour),
			Subject: pkix.Name{CommonName: contract.AgentUser(who.Cluster), Organization: []string{contract.AgentGroup, contract.JoinGroup(join)}},
		}, of.cert, &of.key.PublicKey, of.key)
		g.Expect(err).NotTo(HaveOccurred())
		cert, err := x509.ParseCertificate(raw)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(s.writeJSON(identityFile, who)).To(Succeed())
		g.Expect(s.keep("https://127.0.0.1:1", who.Cluster, encodeCertificate(of.cert), encodeCertificate(cert), of.key)).To(Succeed())
		files, err := Files(s.dir)
		g.Expect(err).NotTo(HaveOccurred())
		return files
	}
	read := issue("a", identity{Cluster: "edge-1", Server: "https://127.0.0.1:1", OnRetire: Remove}, 1)
	renewed := issue("a", identity{Cluster: "edge-1", Server: "https://127.0.0.1:1", Servers: "https://127.0.0.1:2"}, 2)
	other := issue("b", identity{Cluster: "edge-1", Server: "https://127.0.0.1:1"}, 3)

	out, err := Renewed(read, renewed)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out[KubeconfigFile]).To(Equal(renewed[KubeconfigFile]))
	g.Expect(identityIn(out)).To(Equal(identity{Cluster: "edge-1", Server: "https://127.0.0.1:1", Servers: "https://127.0.0.1:2", OnRetire: Remove}))
	g.Expect(Renewed(read, other)).To(Equal(read), "it has joined anew")
	g.Expect(Renewed(read, nil)).To(Equal(read))
	g.Expect(Renewed(renewed, read)).To(Equal(renewed), "somebody put an earlier one back")
}
