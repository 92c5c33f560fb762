package discovery

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/common/bootstrap"
)

// Flags are the parameters of a join as somebody typed them.
type Flags struct {
	// Hub is HOST:PORT; of several hubs of one API, all of them with commas between.
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
	// Server is https://HOST:PORT, and Servers those of all hubs of the API, with that among them.
	Server  string
	Servers []string
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
	p, err := ParseHub(f)
	if err != nil {
		return Parameters{}, err
	}
	token, err := bootstrap.Parse(f.Token)
	if err != nil {
		return Parameters{}, fmt.Errorf("%w: %w", ErrToken, err)
	}
	p.TokenID, p.TokenSecret = token.ID, token.Secret
	return p, nil
}

// ParseHub checks which hub the parameters name, and as whom to join: all but the token.
func ParseHub(f Flags) (Parameters, error) {
	var all []string
	for address := range strings.SplitSeq(f.Hub, ",") {
		server, err := parseAddress(strings.TrimSpace(address))
		if err != nil {
			return Parameters{}, err
		}
		if !slices.Contains(all, server) {
			all = append(all, server)
		}
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
	p := Parameters{Servers: all, Pins: f.CACertHashes, Cluster: f.Cluster}
	return p.At(all[0]), nil
}

// At returns the parameters for one of the hubs.
func (p Parameters) At(server string) Parameters {
	p.Server, p.Host = server, server
	if u, err := url.Parse(server); err == nil {
		p.Host = u.Hostname()
	}
	return p
}

// Others lists all hubs if there are several; else it is empty.
func (p Parameters) Others() string {
	if len(p.Servers) < 2 {
		return ""
	}
	return strings.Join(p.Servers, ",")
}

// parseAddress reads HOST:PORT. A scheme in front of it and a slash behind are
// forgiven.
func parseAddress(address string) (server string, err error) {
	fail := func(why string) (string, error) {
		return "", fmt.Errorf("%w: %q %s; give HOST:PORT, such as hub.example.com:6443", ErrAddress, address, why)
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
	return "https://" + net.JoinHostPort(host, port), nil
}
