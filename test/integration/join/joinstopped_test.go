package join

import (
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/registration"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
)

func TestAJoinThatWasStoppedGoesOnWithTheSameRequest(t *testing.T) {
	h := newHub(t)
	ctx := t.Context()
	stop := h.serve()
	h.g.Expect(h.removeOthers(ctx, "resumed")).To(Succeed())
	stop()
	o := h.options("resumed", h.token(ctx, "resumed", time.Hour))
	o.Deadline = 3 * time.Second
	_, err := registration.Join(ctx, o)
	h.g.Expect(err).To(MatchError(registration.ErrDeadline), "no hub is there to decide")
	_, err = registration.Load(o.StateDir, "resumed")
	h.g.Expect(err).To(MatchError(registration.ErrNotJoined))

	// The hub decides while nobody waits for it, and the API knows by now that the token is used up.
	h.serve()
	h.awaitUsedUp(ctx, o.Token)
	o.Deadline = registration.DefaultDeadline
	findings, well := h.check(o)
	h.g.Expect(well).To(BeTrue(), "`agent join` looks first, and joins only if nothing is in the way")
	h.g.Expect(findings["name"].Is).To(ContainSubstring("continues with it"))
	_, err = registration.Join(ctx, o)
	h.g.Expect(err).NotTo(HaveOccurred())
	var csrs certificatesv1.CertificateSigningRequestList
	h.g.Expect(h.List(ctx, &csrs)).To(Succeed())
	count := 0
	for _, csr := range csrs.Items {
		if strings.HasPrefix(csr.Name, "resumed-") {
			count++
		}
	}
	h.g.Expect(count).To(Equal(1))

	other := h.options("resumed", o.Token)
	_, err = registration.Join(ctx, other)
	denied, ok := errors.AsType[*registration.DeniedError](err)
	h.g.Expect(ok).To(BeTrue(), "%v", err)
	h.g.Expect(denied.Reason).To(Equal(contract.ReasonTokenUsed))
	h.g.Expect(denied.Message).To(ContainSubstring("was used already"))
}

// TestAJoinThatWasStoppedIsInNobodysWay interrupts a join under a mistyped name, or with a token for another one.
func TestAJoinThatWasStoppedIsInNobodysWay(t *testing.T) {
	h := newHub(t)
	ctx := t.Context()
	stop := h.serve()
	stop()
	o := h.options("mistyped", h.created(ctx, "--cluster", "mistyped"))
	o.Member, o.Deadline = members(t)("mistyped"), time.Second
	_, err := registration.Join(ctx, o)
	h.g.Expect(err).To(MatchError(registration.ErrDeadline), "no hub is there to decide")

	h.serve()
	h.g.Eventually(func() error {
		return h.Get(ctx, client.ObjectKey{Name: "mistyped"}, &clusterv1alpha1.Cluster{})
	}).WithTimeout(time.Minute).Should(Succeed())
	mistyped := o
	var steps []string
	o.Progress = func(s string) { steps = append(steps, s) }
	o.Cluster, o.Token, o.Deadline = "typed", h.created(ctx, "--cluster", "typed"), registration.DefaultDeadline
	h.g.Eventually(func() error {
		_, err = registration.Join(ctx, o)
		return err
	}).WithTimeout(time.Minute).Should(MatchError(ContainSubstring("cluster mistyped")), "the hub has that by now")
	h.g.Expect(steps).To(ContainElement(ContainSubstring("hub forget mistyped")))
	h.must(ctx, "forget", "mistyped", "--force")
	h.g.Eventually(func() error {
		_, err = registration.Join(ctx, o)
		return err
	}).WithTimeout(time.Minute).Should(Succeed())

	_, err = registration.Join(ctx, mistyped)
	h.g.Expect(err).To(MatchError(registration.ErrOtherCluster), "it has joined")
	kept, err := registration.Load(o.StateDir, "typed")
	h.g.Expect(err).NotTo(HaveOccurred())
	as, err := client.New(kept, client.Options{Scheme: h.Scheme()})
	h.g.Expect(err).NotTo(HaveOccurred())
	h.g.Eventually(func() error { return as.Get(ctx, client.ObjectKey{Name: "typed"}, &clusterv1alpha1.Cluster{}) }).WithTimeout(time.Minute).Should(Succeed())
	h.g.Expect(as.Get(ctx, client.ObjectKey{Name: "mistyped"}, &clusterv1alpha1.Cluster{})).To(MatchError(apierrors.IsForbidden, "IsForbidden"), "which is another join")
}
