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

// learnAuthorities asks the hub which authorities to trust. A hub that exchanges its certificate authority announces
// the old and the new one for a while, before the new one signs anything. The answer is trusted because the
// connection is verified by an authority that is trusted already.
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

// isTrustCurrent returns whether the hub still announces the authorities that the agent trusts. It asks over the
// connection of the agent's other requests: the answer is nearly always yes, and a new connection would cost both
// sides more than the answer. An agent that the hub rejects gets no answer here, nor does one whose older hub does
// not let agents ask as themselves.
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

// discoveryParameters returns parameters for a discovery that tries each hub in turn, since any of them may be down.
func (c *Credentials) discoveryParameters() discovery.Parameters {
	all := c.servers.list()
	return discovery.Parameters{Server: all[0], Host: all[0], Servers: all, Cluster: c.who.Cluster}
}

// learnServers saves the hub addresses that the hub announces over a verified connection.
func (c *Credentials) learnServers(ctx context.Context, told []string) error {
	if len(told) == 0 || !c.servers.learn(told) {
		return nil // an older hub that knows no others announces nothing
	}
	all := c.servers.list()
	if err := c.state.keepServers(all); err != nil {
		return err
	}
	ctrl.LoggerFrom(ctx).Info("The hub can be reached at", "Cluster", c.who.Cluster, "servers", all)
	return nil
}

// hashes returns the hashes of the authorities in a bundle, and the hash of the one that signed a certificate; empty
// if none of them did.
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

// trusting returns a TLS configuration that trusts these authorities only.
func trusting(ca []byte) *tls.Config {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
}

// verifyChain checks that authorities verify the certificates of a server: an agent that trusted only others could
// never connect again.
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
