package cli

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestTheCommandThatIsPrintedGoesToTheHubsOwnAPI holds that it names the context by which the hub was started: the current one of the kubeconfig
// may be another cluster.
func TestTheCommandThatIsPrintedGoesToTheHubsOwnAPI(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(serveFlags{kubeconfig: "/etc/api.kubeconfig"}.externalFlags()).To(Equal(" --kubeconfig /etc/api.kubeconfig"))
	g.Expect(serveFlags{kubeconfig: "/etc/api.kubeconfig", context: "hub"}.externalFlags()).To(Equal(" --kubeconfig /etc/api.kubeconfig --context hub"))
}
