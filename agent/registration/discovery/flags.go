package discovery

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"fairlead.dev/common/bootstrap"
)

// Flags are the parameters of a join as somebody typed them.
type Flags struct {
	// Hub is HOST:PORT.
	Hub string
	// Token is ID.SECRET.
	Token string
	// CACertHashes pin the hub's certificate authority, each as sha256:HEX.
	CACertHashes []string
	// SkipCAVerification does without a pin: whoever knows the token can then speak for
	// the hub.
	SkipCAVerification bool
	// Cluster is the name under which to join.
	Cluster string
}

// Parameters are the parameters of a join, checked.
type Parameters struct {
	// Server is https://HOST:PORT.
	Server string
	// Host is the host alone.
	Host string
	// TokenID and TokenSecret are the two parts of the token.
	TokenID, TokenSecret string
	// Pins are the hashes; none when verification is skipped.
	Pins []string
	// Cluster is the name under which to join.
	Cluster string
}

// Token is the token as the hub takes it.
func (p Parameters) Token() string { return p.TokenID + "." + p.TokenSecret }

// Parse checks the parameters of a join.
func Parse(f Flags) (Parameters, error) {
	server, host, err := parseAddress(f.Hub)
	if err != nil {
		return Parameters{}, err
	}
	token, err := bootstrap.Parse(f.Token)
	if err != nil {
		return Parameters{}, fmt.Errorf("%w: %w", ErrToken, err)
	}
	if len(f.CACertHashes) == 0 && !f.SkipCAVerification {
		return Parameters{}, fmt.Errorf("%w: give --discovery-token-ca-cert-hash as `hub token create` printed it", ErrCAHash)
	}
	for _, hash := range f.CACertHashes {
		if err := bootstrap.ValidateCAHash(hash); err != nil {
			return Parameters{}, fmt.Errorf("%w: %w", ErrCAHash, err)
		}
	}
	if err := bootstrap.ValidateClusterName(f.Cluster); err != nil {
		return Parameters{}, fmt.Errorf("%w: %w", ErrClusterName, err)
	}
	return Parameters{
		Server: server, Host: host, TokenID: token.ID, TokenSecret: token.Secret, Pins: f.CACertHashes, Cluster: f.Cluster,
	}, nil
}

// parseAddress reads HOST:PORT. A scheme in front of it and a slash behind are
// forgiven.
func parseAddress(address string) (server, host string, err error) {
	fail := func(why string) (string, string, error) {
		return "", "", fmt.Errorf("%w: %q %s; give HOST:PORT, such as hub.example.com:6443", ErrAddress, address, why)
	}
	trimmed := strings.TrimSuffix(strings.TrimPrefix(address, "https://"), "/")
	if trimmed == "" {
		return fail("is empty")
	}
	if strings.ContainsAny(trimmed, "/@?# ") {
		return fail("has more than a host and a port")
	}
	host, port, err := net.SplitHostPort(trimmed)
	if err != nil {
		return fail("has no port")
	}
	const highest = 65535
	if number, err := strconv.Atoi(port); err != nil || number < 1 || number > highest {
		return fail("has no port between 1 and 65535")
	}
	if host == "" {
		return fail("has no host")
	}
	return "https://" + net.JoinHostPort(host, port), host, nil
}
