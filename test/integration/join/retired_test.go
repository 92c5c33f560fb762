package join

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/registration"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
)

func TestAMemberWhoseCertificateWasCopiedJoinsAgainAndLocksTheCopyOut(t *testing.T) {
	h := newHub(t)
	ctx := t.Context()
	h.serve()
	honest := h.keeps(ctx, "copied", 25*day)
	files, err := registration.Files(honest.dir)
	h.g.Expect(err).NotTo(HaveOccurred())
	dir := filepath.Join(t.TempDir(), "stolen")
	h.g.Expect(registration.WriteFiles(dir, files)).To(Succeed())
	credentials, err := registration.OpenCredentials(registration.KeepOptions{StateDir: dir, Clock: ahead{by: 25 * day}, Random: func() float64 { return 0 }})
	h.g.Expect(err).NotTo(HaveOccurred())
	thief := &joined{Credentials: credentials, h: h, dir: dir}
	before := honest.onDisk(h.g)

	// The thief renews first, and the member is told.
	while := func(j *joined, until func(g Gomega)) {
		keeping, cancel := context.WithCancel(ctx)
		done := j.keep(keeping)
		h.g.Eventually(until).WithTimeout(time.Minute).Should(Succeed())
		cancel()
		h.g.Eventually(done).WithTimeout(time.Minute).Should(Receive(BeNil()))
	}
	now := time.Now().Unix() // tells certificates apart
	h.g.Eventually(func() int64 { return time.Now().Unix() }).WithTimeout(time.Minute).Should(BeNumerically(">", now))
	while(thief, func(g Gomega) { g.Expect(thief.onDisk(g).CertData).NotTo(Equal(before.CertData)) })
	while(honest, func(g Gomega) {
		request := &certificatesv1.CertificateSigningRequest{}
		g.Expect(h.Get(ctx, client.ObjectKey{Name: contract.RenewalRequest("copied")}, request)).To(Succeed())
		g.Expect(request.Status.Conditions).To(HaveLen(1))
		g.Expect(request.Status.Conditions[0].Reason).To(Equal(contract.ReasonNotTheLastCertificate))
	})
	h.g.Expect(honest.onDisk(h.g).CertData).To(Equal(before.CertData))

	h.g.Expect(client.IgnoreNotFound(h.Delete(ctx, &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: contract.RenewalRequest("copied")},
	}))).To(Succeed(), "the thief may")
	copied := func() map[string]string {
		cluster := &clusterv1alpha1.Cluster{}
		h.g.Expect(h.Get(ctx, client.ObjectKey{Name: "copied"}, cluster)).To(Succeed())
		return cluster.Annotations
	}
	h.g.Expect(copied()).To(HaveKey(contract.CopiedAnnotation))
	o := h.options("copied", h.created(ctx, "--rejoin", "copied"))
	o.StateDir, o.Member = honest.dir, members(t)("copied")
	block, _ := pem.Decode(thief.onDisk(h.g).KeyData)
	key, err := x509.ParseECPrivateKey(block.Bytes)
	h.g.Expect(err).NotTo(HaveOccurred())
	public, err := key.PublicKey.Bytes()
	h.g.Expect(err).NotTo(HaveOccurred())
	calls := &corev1.ConfigMap{}
	h.g.Expect(client.IgnoreNotFound(h.Get(ctx, client.ObjectKey{Namespace: "kube-public", Name: bootstrap.RejoinName}, calls))).To(Succeed())
	h.g.Expect(calls.Data).NotTo(HaveKey(bootstrap.RejoinKey(public)), "the thief is not called")

	started := o
	started.KeepSuperseded = true
	_, err = registration.Join(ctx, started)
	h.g.Expect(err).NotTo(HaveOccurred())
	h.g.Expect(honest.onDisk(h.g).CertData).To(Equal(before.CertData), "an agent that starts works on with what it has")
	_, err = registration.Join(ctx, o)
	h.g.Expect(err).NotTo(HaveOccurred())
	h.g.Expect(honest.onDisk(h.g).CertData).NotTo(Equal(before.CertData), "its certificate holds, and is of no use for long")
	h.g.Expect(copied()).NotTo(HaveKey(contract.CopiedAnnotation))
	as, err := client.New(thief.Config(), client.Options{Scheme: h.Scheme()})
	h.g.Expect(err).NotTo(HaveOccurred())
	h.g.Eventually(func() error { return as.Get(ctx, client.ObjectKey{Name: "copied"}, &clusterv1alpha1.Cluster{}) }).
		WithTimeout(time.Minute).Should(MatchError(apierrors.IsForbidden, "IsForbidden"))
	h.g.Expect(registration.Joined(ctx, o)).To(BeTrue(), "once is enough")
}

func TestAnAgentIsToldThatItWasRetired(t *testing.T) {
	h := newHub(t)
	ctx := t.Context()
	h.serve()
	j := h.keeps(ctx, "retires", 0)
	done := j.keep(ctx)
	h.must(ctx, "forget", "retires", "--force")
	agent, err := client.New(j.Config(), client.Options{Scheme: h.Scheme()})
	h.g.Expect(err).NotTo(HaveOccurred())
	h.g.Eventually(func() error {
		// The agent continues its work until the hub rejects a request.
		return agent.List(ctx, &workv1alpha1.WorkList{}, client.InNamespace("karmada-es-retires"))
	}).ShouldNot(Succeed())
	var ended error
	h.g.Eventually(done).WithTimeout(time.Minute).Should(Receive(&ended))
	var told *registration.RetiredError
	h.g.Expect(errors.As(ended, &told)).To(BeTrue(), "%v", ended)
	h.g.Expect(told.By).NotTo(BeEmpty())
	t.Log(ended)
}
