package registration

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/registration/discovery"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
)

// errUnusable says that no client can be made of the credentials.
var errUnusable = errors.New("the credentials are of no use")

// joined returns the credentials that there are, unless they are of no use: they are of
// another hub, have expired, or the hub says so. A hub that cannot be asked says nothing.
func (j *joining) joined(ctx context.Context) (*rest.Config, bool) {
	config := j.state.credentialsOf(j.parameters)
	if config == nil {
		return nil, false
	}
	cert, err := parseCertificate(config.CertData)
	if err != nil || j.retrier.clock.Now().After(cert.NotAfter) {
		return nil, false
	}
	cluster, revoked := j.revoked(ctx, config)
	return config, !revoked && (j.keepSuperseded || !j.superseded(cluster, cert))
}

// credentialsOf returns the credentials that there are if they are of the cluster and of the hub that parameters name, whatever has become
// of them; nil if they are not. An agent may have gone over to another address of its hub since it joined, and the hub may have exchanged
// its authority: the address and the hashes with which it joined are those of its hub, too.
func (s state) credentialsOf(p discovery.Parameters) *rest.Config {
	config, err := Load(s.dir, p.Cluster)
	if err != nil {
		return nil
	}
	who, err := s.identity()
	if err != nil || who == nil {
		return nil
	}
	if !slices.Contains(p.Servers, config.Host) && !slices.Contains(p.Servers, who.Server) {
		return nil
	}
	asBefore := who.Pins == strings.Join(p.Pins, ",")
	if len(p.Pins) > 0 && !asBefore && bootstrap.VerifyCAHash(config.CAData, p.Pins) != nil {
		return nil
	}
	return config
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

// revoked asks the hub whether it still knows the agent, and returns what it says of its cluster; nil if it does not. The address to
// which the agent went over may be one that was given up: then it is asked at those of the arguments.
func (j *joining) revoked(ctx context.Context, config *rest.Config) (*clusterv1alpha1.Cluster, bool) {
	servers := []string{config.Host}
	for _, server := range j.parameters.Servers {
		if server != config.Host {
			servers = append(servers, server)
		}
	}
	for _, server := range servers {
		at := rest.CopyConfig(config)
		at.Host = server
		cluster, err := j.recorded(ctx, at)
		switch {
		case err == nil:
			return cluster, false
		case apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || errors.Is(err, errUnusable):
			return nil, true
		}
	}
	return nil, false
}

// recorded asks the hub at one address for the agent's cluster. A hub that has just started may refuse what it will grant in a moment.
func (j *joining) recorded(ctx context.Context, config *rest.Config) (*clusterv1alpha1.Cluster, error) {
	hubClient, err := newClient(config)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnusable, err)
	}
	cluster := &clusterv1alpha1.Cluster{}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	settling := j.retrier.whileTokenSpreads()
	err = j.retrier.do(ctx, func(ctx context.Context) error {
		err := hubClient.Get(ctx, client.ObjectKey{Name: j.parameters.Cluster}, cluster)
		if apierrors.IsForbidden(err) {
			return settling(err)
		}
		return err //nolint:wrapcheck // only its kind is looked at
	})
	return cluster, err
}
