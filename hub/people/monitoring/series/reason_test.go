package series

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestReasonOf(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		`Deployment shop/web: the member refuses it: admission webhook "x" denied the request: no`:                  Denied,
		`the member refuses it: Deployment.apps "web" is invalid: spec.selector: Invalid value: field is immutable`: Invalid,
		`the member refuses it: pods "web" is forbidden: exceeded quota: small, requested: cpu=1`:                   QuotaExceeded,
		`the member refuses it: deployments.apps is forbidden: User "system:karmada:agent" cannot create resource`:  Forbidden,
		`the member does not know the kind Frob of example.com/v1; install its CustomResourceDefinition there`:      UnknownKind,
		`the namespace "shop" does not exist in the member; create it there or propagate it`:                        MissingNamespace,
		`the object is being changed in the member; the agent tries again by itself`:                                Conflict,
		`the member's API server does not answer; the agent tries again by itself`:                                  Unanswered,
		`something else`: Other,
		``:               Other,
	} {
		NewWithT(t).Expect(ReasonOf(message)).To(Equal(want), message)
	}
	NewWithT(t).Expect(Reasons()).To(HaveLen(9))
}
