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

// errUnusable says that the credentials do not make a client.
var errUnusable = errors.New("the credentials are not usable")

// joined returns the saved credentials, and false if they are unusable: of another hub, expired, or rejected by the
// hub. If the hub does not answer, they count as usable.
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

// credentialsOf returns the saved credentials if they are for the cluster and the hub of the parameters, expired or
// not; otherwise nil. The agent may have switched to another address since it joined, and the hub may have exchanged
// its authority, so the address and the hashes of the join also identify the hub.
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

// superseded returns whether the hub has since issued a certificate to another process with a copy of this one; the
// hub renews only the newest. Joining again locks out all other copies. The cluster is nil if the hub did not answer.
//
// Only certificates of the same join are compared: those of an earlier join are revoked, and the hub's clock may have
// been set back between two joins.
func (j *joining) superseded(cluster *clusterv1alpha1.Cluster, cert *x509.Certificate) bool {
	if cluster == nil {
		return false
	}
	last := lastIssued(cluster)
	if last == nil || contract.JoinOf(last.Subject.Organization) != contract.JoinOf(cert.Subject.Organization) || !last.NotBefore.After(cert.NotBefore) {
		return false // a restored hub knows an older one
	}
	begun, err := j.state.begunKey(renewalKeyFile)
	return err == nil && (begun == nil || !begun.PublicKey.Equal(last.PublicKey))
}

// lastIssued returns the certificate that the hub last issued to a cluster's agent; nil if it is not recorded.
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

// revoked asks the hub whether it still accepts the agent, and returns the Cluster; nil if the hub does not answer.
// If the present address fails, it tries those of the arguments.
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

// recorded reads the agent's Cluster from one address of the hub. It retries refusals, since a hub that has just
// started may refuse at first.
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
