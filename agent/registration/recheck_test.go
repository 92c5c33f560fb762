package registration

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// TestTheSecretIsPutRightIfTheMemberWasRestored restores the member to a snapshot from before the certificate was
// renewed and a person decided that the objects stay; then somebody deletes the Secret.
func TestTheSecretIsPutRightIfTheMemberWasRestored(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	of := newAuthority(t, "hub")
	dir := joinedTo(t, "https://127.0.0.1:1", of.cert, of.agent(t), of.key)
	s := state{dir: dir}
	who, err := s.identity()
	g.Expect(err).NotTo(HaveOccurred())
	who.OnRetire = Remove
	g.Expect(s.writeJSON(identityFile, who)).To(Succeed())
	before, err := Files(dir)
	g.Expect(err).NotTo(HaveOccurred())
	secret := func(data map[string][]byte) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "fairlead-system", Name: "agent"}, Data: data}
	}
	member := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(secret(before)).Build()
	m := &SecretStore{memberClient: member, key: client.ObjectKeyFromObject(secret(nil))}
	g.Expect(m.Restore(t.Context(), dir, "")).To(Succeed())
	who.OnRetire = Keep
	g.Expect(s.writeJSON(identityFile, who)).To(Succeed())
	g.Expect(s.keep("https://127.0.0.1:1", who.Cluster, encodeCertificate(of.cert), encodeCertificate(of.agent(t)), of.key)).To(Succeed())
	g.Expect(m.Save(t.Context(), dir)).To(Succeed())
	now, err := Files(dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(now).NotTo(Equal(before))

	g.Expect(member.Delete(t.Context(), secret(nil))).To(Succeed())
	g.Expect(member.Create(t.Context(), secret(before))).To(Succeed()) // in an older version
	m.Recheck()
	g.Expect(m.Save(t.Context(), dir)).To(Succeed())
	live := secret(nil)
	g.Expect(member.Get(t.Context(), m.key, live)).To(Succeed())
	g.Expect(live.Data).To(Equal(now))
	g.Expect(Files(dir)).To(Equal(now), "nothing of before is taken over")
	version := live.ResourceVersion
	m.Recheck()
	g.Expect(m.Save(t.Context(), dir)).To(Succeed())
	g.Expect(member.Get(t.Context(), m.key, live)).To(Succeed())
	g.Expect(live.ResourceVersion).To(Equal(version), "nothing is written that is there")

	// Somebody joins again before the agent has noticed the restore of the member.
	later, err := Files(joinedTo(t, "https://127.0.0.1:1", of.cert, of.agentOf(t, "a-later-join", time.Now()), of.key))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(member.Delete(t.Context(), live)).To(Succeed())
	g.Expect(member.Create(t.Context(), secret(later))).To(Succeed())
	m.Recheck()
	g.Expect(m.Save(t.Context(), dir)).To(MatchError(ErrJoinedAgain))
	g.Expect(member.Get(t.Context(), m.key, live)).To(Succeed())
	g.Expect(live.Data).To(Equal(later), "it is not taken back to credentials that the hub has revoked")

	g.Expect(member.Delete(t.Context(), live)).To(Succeed())
	m.Recheck()
	for range 2 {
		g.Expect(apierrors.IsNotFound(m.Save(t.Context(), dir))).To(BeTrue(), "it is told until there is one")
	}
	g.Expect(member.Create(t.Context(), secret(nil))).To(Succeed())
	g.Expect(m.Save(t.Context(), dir)).To(Succeed())
	g.Expect(member.Get(t.Context(), m.key, live)).To(Succeed())
	g.Expect(live.Data).To(Equal(now), "an empty one is filled")
}
