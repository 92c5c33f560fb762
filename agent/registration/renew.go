package registration

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/registration/discovery"
	"fairlead.dev/common/contract"
)

// renewalDeadline bounds one try to renew.
const renewalDeadline = 2 * time.Minute

// renew gets a certificate for a new key, keeps both and begins to use them. If it is
// stopped on the way, the old ones hold still and nothing is lost but a key that nobody used.
func (c *Credentials) renew(ctx context.Context) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("making a key: %w", err)
	}
	hubClient, err := newClient(c.Config())
	if err != nil {
		return err
	}
	desired, err := newRequest(contract.RenewalRequest(c.who.Cluster), c.who.Cluster, c.who.MemberID, key)
	if err != nil {
		return err
	}
	j := c.joining(discovery.Parameters{Server: c.who.Server, Cluster: c.who.Cluster}, renewalDeadline)
	// One that was left behind is of an older key.
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
		err = fits(cert, key, c.who.Cluster)
	}
	if err != nil {
		return err
	}
	if err := c.keep(c.now().ca, cert, key); err != nil {
		return err
	}
	now := c.now().cert
	ctrl.LoggerFrom(ctx).Info("Renewed the certificate, with a new key", "Cluster", c.who.Cluster,
		"until", now.NotAfter.UTC().Format(time.RFC3339), "serial", now.SerialNumber.Text(16))
	if err := hubClient.Delete(ctx, &certificatesv1.CertificateSigningRequest{ObjectMeta: desired.ObjectMeta}); client.IgnoreNotFound(err) != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("Leaving the request on the hub, which drops it after a while", "reason", err.Error())
	}
	return nil
}

// joining returns what the steps of a join need, for an agent that has joined.
func (c *Credentials) joining(p discovery.Parameters, patience time.Duration) *joining {
	quiet := func(string) {}
	return &joining{
		parameters: p, state: c.state, memberID: c.who.MemberID, progress: quiet, connection: c.connection,
		retrier: &retrier{clock: c.clock, deadline: c.clock.Now().Add(patience), progress: quiet},
	}
}
