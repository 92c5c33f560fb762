package registration

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	certificatesv1 "k8s.io/api/certificates/v1"

	"fairlead.dev/agent/registration/discovery"
	"fairlead.dev/common/contract"
)

func TestARequestOfAnotherTokenIsWaitedForUnlessAnOperatorIsToAcceptIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		token       string
		held        bool
		ours        bool
		wantOutworn bool
	}{
		"of this token, not looked at":    {token: "abcdef"},
		"of this token, held":             {token: "abcdef", held: true},
		"of another token, not looked at": {token: "uvwxyz"},
		"of another token, held":          {token: "uvwxyz", held: true, wantOutworn: true},
		"made by this very process, held": {token: "uvwxyz", held: true, ours: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			j := &joining{parameters: discovery.Parameters{TokenID: "abcdef"}}
			live := &certificatesv1.CertificateSigningRequest{}
			live.Spec.Username = contract.BootstrapUserPrefix + c.token
			if c.held {
				live.Annotations = map[string]string{contract.PendingAnnotation: "accept it"}
			}
			_, err := j.answer(live, c.ours)
			g.Expect(errors.Is(err, errOutworn)).To(Equal(c.wantOutworn))
			g.Expect(errors.As(err, new(temporaryError))).To(Equal(!c.wantOutworn), "it is waited for")
		})
	}
}
