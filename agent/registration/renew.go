package registration

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/registration/discovery"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
)

// renewalDeadline bounds one attempt to renew.
const renewalDeadline = 2 * time.Minute

// renew gets a certificate for a new key, saves both and switches to them. The hub renews only the certificate that
// it issued last, so the key is saved to the disk, and to the Secret if there is one, before the request: if the
// process is killed in between, the next attempt can fetch the issued certificate, whichever of the two is left.
func (c *Credentials) renew(ctx context.Context) error {
	key, begun, err := c.state.key(renewalKeyFile)
	if err != nil {
		return err
	}
	hubClient, err := newClient(c.Config())
	if err != nil {
		return err
	}
	if begun {
		if cert, err := c.issuedFor(ctx, hubClient, key); err != nil || cert != nil {
			if err == nil {
				err = c.renewed(ctx, cert, key)
			}
			return err
		}
	}
	if err := c.saveRenewalKey(ctx); err != nil {
		return err
	}
	desired, err := c.renewalRequest(key)
	if err != nil {
		return err
	}
	j := c.joining(c.discoveryParameters(), renewalDeadline)
	// An abandoned request may have been denied, or be for an older key.
	if err := hubClient.Delete(ctx, desired.DeepCopy()); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing an older request from the hub: %w", err)
	}
	err = j.retrier.do(ctx, func(ctx context.Context) error {
		err := hubClient.Create(ctx, desired.DeepCopy(), client.FieldOwner(contract.FieldManagerAgent))
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return j.apiError("asking the hub for another certificate", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	cert, err := j.await(ctx, hubClient, desired, true)
	if err == nil {
		err = checkCertificate(cert, key, c.who.Cluster)
	}
	if err != nil {
		return err
	}
	if err := c.renewed(ctx, cert, key); err != nil {
		return err
	}
	if err := hubClient.Delete(ctx, &certificatesv1.CertificateSigningRequest{ObjectMeta: desired.ObjectMeta}); client.IgnoreNotFound(err) != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("Leaving the request on the hub, which deletes it after a while", "reason", err.Error())
	}
	return nil
}

// saveRenewalKey saves the key of a renewal in the member, too; also that of an earlier renewal, which may be only on
// this disk because the member was unavailable. Without the key, a new pod would have a certificate that the hub no
// longer renews. A certificate that is about to expire is renewed even if saving fails, since otherwise the agent
// would certainly be locked out.
func (c *Credentials) saveRenewalKey(ctx context.Context) error {
	if c.secretStore == nil {
		return nil
	}
	err := c.secretStore.Save(ctx, c.state.dir)
	if cert := c.now().cert; err == nil || errors.Is(err, ErrJoinedAgain) || c.clock.Now().Before(renewalEnd(cert.NotBefore, cert.NotAfter)) {
		return err
	}
	ctrl.LoggerFrom(ctx).Error(err, "Renewing the certificate with a key that is only on this disk, because the certificate expires soon", "Cluster", c.who.Cluster)
	return nil
}

// renewalRequest returns the request for a certificate of the same join. A join from before join IDs existed gets a
// new ID.
func (c *Credentials) renewalRequest(key *ecdsa.PrivateKey) (*certificatesv1.CertificateSigningRequest, error) {
	join := contract.JoinOf(c.now().cert.Subject.Organization)
	if join == "" {
		public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
		if err != nil {
			return nil, fmt.Errorf("encoding a public key: %w", err)
		}
		join = contract.JoinID(public)
	}
	out, err := newRequest(contract.RenewalRequest(c.who.Cluster), c.who.Cluster, c.who.MemberID, join, key)
	if err != nil {
		return nil, err
	}
	out.Annotations[contract.PresentedCertificateAnnotation] = string(encodeCertificate(c.now().cert))
	return out, nil
}

// issuedFor returns the certificate that the hub issued last if it is for this key; otherwise nil.
func (c *Credentials) issuedFor(ctx context.Context, hubClient client.Reader, key *ecdsa.PrivateKey) ([]byte, error) {
	cluster := &clusterv1alpha1.Cluster{}
	if err := hubClient.Get(ctx, client.ObjectKey{Name: c.who.Cluster}, cluster); err != nil {
		return nil, fmt.Errorf("looking for a certificate that was issued: %w", err)
	}
	if last := lastIssued(cluster); last != nil && key.PublicKey.Equal(last.PublicKey) {
		return encodeCertificate(last), nil
	}
	return nil, nil
}

// renewed saves a certificate and switches to it.
func (c *Credentials) renewed(ctx context.Context, cert []byte, key *ecdsa.PrivateKey) error {
	if err := c.keep(c.now().ca, cert, key); err != nil {
		return err
	}
	if err := c.state.remove(renewalKeyFile); err != nil {
		return err
	}
	now := c.now().cert
	ctrl.LoggerFrom(ctx).Info("Renewed the certificate, with a new key", "Cluster", c.who.Cluster,
		"until", now.NotAfter.UTC().Format(time.RFC3339), "serial", now.SerialNumber.Text(16))
	return nil
}

// joining returns a joining for an agent that has already joined.
func (c *Credentials) joining(p discovery.Parameters, timeout time.Duration) *joining {
	quiet := func(string) {}
	out := &joining{
		parameters: p, state: c.state, memberID: c.who.MemberID, progress: quiet, connection: c.connection,
		retrier: &retrier{clock: c.clock, deadline: c.clock.Now().Add(timeout), progress: quiet},
	}
	if c.secretStore != nil {
		out.begun = func(ctx context.Context) error { return c.secretStore.Save(ctx, c.state.dir) }
	}
	return out
}
