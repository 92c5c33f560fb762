package registration

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	certutil "k8s.io/client-go/util/cert"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/agent/registration/discovery"
	"fairlead.dev/common/bootstrap"
)

// learnAuthorities asks the hub whom to trust from now on. When a hub exchanges its
// certificate authority, it names the old and the new one for a while, before the new one
// signs anything. It is believed because an authority that is trusted already vouches for
// the connection.
func (c *Credentials) learnAuthorities(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	now := c.now()
	j := c.joining(c.discoveryParameters(), requestTimeout)
	if same, err := c.isTrustCurrent(ctx, j, now); same || errors.Is(err, ErrUnreachable) && c.servers.count() < 2 {
		return err
	}
	seen, err := j.readPublic(ctx, bootstrapapi.ConfigMapClusterInfo, trusting(now.ca))
	if err != nil {
		return err
	}
	server := j.parameters.Server
	ca, err := discovery.Authorities(server, seen.data)
	if err != nil {
		return err
	}
	if err := c.learnServers(ctx, discovery.Servers(seen.data)); err != nil {
		return err
	}
	if bytes.Equal(ca, now.ca) {
		return nil
	}
	if err := verifyChain(ca, seen.certificates); err != nil {
		return fmt.Errorf("%w: the certificate authorities that %s names do not vouch for itself (%w); going on with those of before",
			discovery.ErrCAMismatch, server, err)
	}
	if err := c.keep(ca, encodeCertificate(now.cert), now.key); err != nil {
		return err
	}
	ctrl.LoggerFrom(ctx).Info("Trusting the certificate authorities that the hub names", "Cluster", c.who.Cluster, "hashes", c.now().trusts)
	return nil
}

// isTrustCurrent says whether the hub names the authorities that the agent trusts. It is asked over the connection of the agent's other
// requests: that it names no others is what it says all the time, and a connection costs both sides more than the answer. An agent
// that the hub rejects is not answered here, nor is one by a hub of before agents were allowed to ask as themselves.
func (c *Credentials) isTrustCurrent(ctx context.Context, j *joining, now credentialSet) (bool, error) {
	seen, err := j.get(ctx, bootstrapapi.ConfigMapClusterInfo, now.transport)
	if err != nil {
		return false, err
	}
	ca, err := discovery.Authorities(j.parameters.Server, seen.data)
	if err != nil || !bytes.Equal(ca, now.ca) {
		return false, err
	}
	return true, c.learnServers(ctx, discovery.Servers(seen.data))
}

// discoveryParameters returns parameters for a discovery that asks one hub after the other, since any of them may be down.
func (c *Credentials) discoveryParameters() discovery.Parameters {
	all := c.servers.list()
	return discovery.Parameters{Server: all[0], Host: all[0], Servers: all, Cluster: c.who.Cluster}
}

// learnServers remembers where the hubs of this API are, as the hub says over a connection that its authority vouches for.
func (c *Credentials) learnServers(ctx context.Context, told []string) error {
	if len(told) == 0 || !c.servers.learn(told) {
		return nil // a hub of before there were several says nothing
	}
	all := c.servers.list()
	if err := c.state.keepServers(all); err != nil {
		return err
	}
	ctrl.LoggerFrom(ctx).Info("The hub can be reached at", "Cluster", c.who.Cluster, "servers", all)
	return nil
}

// hashes returns those of the authorities in a bundle, and that of the one which signed a
// certificate; empty if none of them did.
func hashes(ca []byte, cert *x509.Certificate) (all []string, issuer string, err error) {
	if all, err = bootstrap.CAHash(ca); err != nil {
		return nil, "", err
	}
	authorities, err := certutil.ParseCertsPEM(ca)
	if err != nil {
		return nil, "", fmt.Errorf("reading the certificate authorities: %w", err)
	}
	for i, authority := range authorities {
		if cert.CheckSignatureFrom(authority) == nil {
			return all, all[i], nil
		}
	}
	return all, "", nil
}

// trusting believes what these authorities vouch for.
func trusting(ca []byte) *tls.Config {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
}

// verifyChain says whether authorities vouch for the certificates that a server showed: an agent
// that began to trust others only could never come back.
func verifyChain(ca []byte, chain []*x509.Certificate) error {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return errors.New("they are damaged")
	}
	if len(chain) == 0 {
		return errors.New("it shows no certificate")
	}
	between := x509.NewCertPool()
	for _, cert := range chain[1:] {
		between.AddCert(cert)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{Roots: pool, Intermediates: between})
	return err
}
