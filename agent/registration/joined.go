package registration

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
)

// joined returns the credentials that there are, unless they are of no use: they are of
// another hub, have expired, or the hub says so. A hub that cannot be asked says nothing.
func (j *joining) joined(ctx context.Context) (*rest.Config, bool) {
	config, err := Load(j.state.dir, j.parameters.Cluster)
	if err != nil {
		return nil, false
	}
	cert, err := parseCertificate(config.CertData)
	if err != nil || j.retrier.clock.Now().After(cert.NotAfter) {
		return nil, false
	}
	if !slices.Contains(j.parameters.Servers, config.Host) {
		return nil, false
	}
	who, err := j.state.identity()
	if err != nil || who == nil {
		return nil, false
	}
	asBefore := who.Pins == strings.Join(j.parameters.Pins, ",")
	if len(j.parameters.Pins) > 0 && !asBefore && bootstrap.VerifyCAHash(config.CAData, j.parameters.Pins) != nil {
		return nil, false
	}
	cluster, revoked := j.revoked(ctx, config)
	return config, !revoked && (j.keepSuperseded || !j.superseded(cluster, cert))
}

// superseded says whether the hub has issued a later certificate to somebody else than this agent, who had a copy of this one: only that one
// is renewed. To join again locks all of them out but whoever does. The cluster is nil if the hub did not say.
//
// Certificates of one join only are compared: those of a former one are revoked, and the clock of the hub may have been put
// back between two joins.
func (j *joining) superseded(cluster *clusterv1alpha1.Cluster, cert *x509.Certificate) bool {
	if cluster == nil {
		return false
	}
	last := lastIssued(cluster)
	if last == nil || contract.JoinOf(last.Subject.Organization) != contract.JoinOf(cert.Subject.Organization) || !last.NotBefore.After(cert.NotBefore) {
		return false // a hub that was restored knows an earlier one
	}
	begun, err := j.state.begunKey(renewalKeyFile)
	return err == nil && (begun == nil || !begun.PublicKey.Equal(last.PublicKey))
}

// lastIssued returns the certificate that the hub issued last to the agent of a cluster; nil if it does not say.
func lastIssued(cluster *clusterv1alpha1.Cluster) *x509.Certificate {
	var issued struct {
		PEM string `json:"pem"`
	}
	if json.Unmarshal([]byte(cluster.Annotations[contract.CertificateAnnotation]), &issued) != nil {
		return nil
	}
	cert, err := parseCertificate([]byte(issued.PEM))
	if err != nil {
		return nil
	}
	return cert
}

// revoked asks the hub whether it still knows the agent, and returns what it says of its cluster; nil if it does not. A hub
// that has just started may refuse what it will grant in a moment.
func (j *joining) revoked(ctx context.Context, config *rest.Config) (*clusterv1alpha1.Cluster, bool) {
	hubClient, err := newClient(config)
	if err != nil {
		return nil, true
	}
	cluster := &clusterv1alpha1.Cluster{}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	settling := j.retrier.settles()
	err = j.retrier.do(ctx, func(ctx context.Context) error {
		err := hubClient.Get(ctx, client.ObjectKey{Name: j.parameters.Cluster}, cluster)
		if apierrors.IsForbidden(err) {
			return settling(err)
		}
		return err //nolint:wrapcheck // only its kind is looked at
	})
	if err != nil {
		return nil, apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) || apierrors.IsNotFound(err)
	}
	return cluster, false
}
