package operate_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/bootstrap"
	"fairlead.dev/hub/people/operate"
)

func TestEndpoint(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ server, want string }{
		"a host and a port":             {"https://hub.example.com:6443", "hub.example.com:6443"},
		"a host alone has the port 443": {"https://hub.example.com", "hub.example.com:443"},
		"a slash at the end is nothing": {"https://hub.example.com:6443/", "hub.example.com:6443"},
		"an address of version 6":       {"https://[2001:db8::1]:6443", "[2001:db8::1]:6443"},
		"a path cannot be dialled":      {"https://hub.example.com/k8s", ""},
		"a server without TLS":          {"http://hub.example.com", ""},
		"nothing":                       {"", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got, err := operate.Endpoint(tc.server)
			g.Expect(got).To(Equal(tc.want))
			g.Expect(err != nil).To(Equal(tc.want == ""))
		})
	}
}

func TestGiftsThatNoClusterCanHaveAreNamed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(operate.ValidateClusterDefaults(bootstrap.ClusterDefaults{Labels: map[string]string{"tier": "gold"}, Region: "eu", Zones: []string{"eu-1"}})).To(Succeed())
	g.Expect(operate.ValidateClusterDefaults(bootstrap.ClusterDefaults{Labels: map[string]string{"a b": "c"}})).To(MatchError(HavePrefix(`labels: the key "a b"`)))
	g.Expect(operate.ValidateClusterDefaults(bootstrap.ClusterDefaults{Labels: map[string]string{"a": "c d"}})).To(MatchError(HavePrefix(`labels: the value "c d"`)))
	g.Expect(operate.ValidateClusterDefaults(bootstrap.ClusterDefaults{Zones: []string{"-"}})).To(MatchError(HavePrefix(`zone "-"`)))
}

func TestTheJoinCommandHasAllThatAnAgentNeeds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := operate.Hub{Endpoint: "hub:6443", Hashes: []string{"sha256:a", "sha256:b"}}
	g.Expect(hub.JoinCommand(bootstrap.Token{ID: "abcdef", Secret: "0123456789abcdef", Cluster: "edge-1"})).To(Equal(
		"agent join hub:6443 --token abcdef.0123456789abcdef --discovery-token-ca-cert-hash sha256:a --discovery-token-ca-cert-hash sha256:b --cluster-name edge-1"))
	g.Expect(hub.JoinCommand(bootstrap.Token{Cluster: "shop-*"})).To(HaveSuffix("--cluster-name NAME"))
}
