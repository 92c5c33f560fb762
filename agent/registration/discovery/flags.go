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

// Flags are the parameters of a join as they were typed.
type Flags struct {
	// Hub is HOST:PORT; for several hubs of one API, all of them separated by commas.
	Hub string
	// Token is ID.SECRET.
	Token string
	// CACertHashes pin the hub's certificate authority, each as sha256:HEX.
	CACertHashes []string
	// SkipCAVerification allows a join without a pin: whoever knows the token can then impersonate the hub.
	SkipCAVerification bool
	// Cluster is the name under which to join.
	Cluster string
}

// Parameters are the validated parameters of a join.
type Parameters struct {
	// Server is https://HOST:PORT, and Servers are the addresses of all hubs of the API, including Server.
	Server  string
	Servers []string
	// Host is the host alone.
	Host string
	// TokenID and TokenSecret are the two parts of the token.
	TokenID, TokenSecret string
	// Pins are the hashes; empty if verification is skipped.
	Pins []string
	// Cluster is the name under which to join.
	Cluster string
}

// Token returns the token in the form ID.SECRET.
func (p Parameters) Token() string { return p.TokenID + "." + p.TokenSecret }

// Parse validates the parameters of a join.
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

// ParseHub validates the parameters of a join except the token.
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

// At returns the parameters with another one of the hubs as Server.
func (p Parameters) At(server string) Parameters {
	p.Server, p.Host = server, server
	if u, err := url.Parse(server); err == nil {
		p.Host = u.Hostname()
	}
	return p
}

// Others lists all hubs if there is more than one; otherwise it is empty.
func (p Parameters) Others() string {
	if len(p.Servers) < 2 {
		return ""
	}
	return strings.Join(p.Servers, ",")
}

// parseAddress parses HOST:PORT. It tolerates a scheme and a trailing slash.
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
