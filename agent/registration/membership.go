package registration

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
)

// membership says whether the hub accepts this agent as the agent of a member.
type membership int

const (
	// known means that the hub knows the agent and lets it work.
	known membership = iota
	// rejected means that the hub rejects the agent's certificate.
	rejected
	// forbidden means that the hub authenticates the agent but grants it no rights.
	forbidden
	// gone means that the hub states that it forgot the member.
	gone
)

// ask asks the hub for the agent's membership. An error means that no hub answered.
func (c *Credentials) ask(ctx context.Context) (membership, *RetiredError, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	hubClient, err := newClient(c.Config())
	if err != nil {
		return known, nil, err
	}
	cluster := &metav1.PartialObjectMetadata{}
	cluster.SetGroupVersionKind(clusterv1alpha1.GroupVersion.WithKind(clusterv1alpha1.KindCluster))
	err = hubClient.Get(ctx, client.ObjectKey{Name: c.who.Cluster}, cluster)
	switch {
	case err == nil && cluster.Annotations[contract.RetiredAnnotation] == "":
		return known, nil, nil
	case apierrors.IsUnauthorized(err):
		return rejected, nil, nil
	case err != nil && !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err):
		return known, nil, fmt.Errorf("asking the hub about cluster %q: %w", c.who.Cluster, err)
	}
	retired, err := c.retirement(ctx, hubClient)
	switch {
	case err != nil:
		return known, nil, err
	case retired != nil:
		return gone, retired, nil
	default:
		return forbidden, nil, nil
	}
}

// retirement reads the hub's record of forgotten members; nil if this member is not among them.
func (c *Credentials) retirement(ctx context.Context, hubClient client.Reader) (*RetiredError, error) {
	kept := &corev1.ConfigMap{}
	err := hubClient.Get(ctx, client.ObjectKey{Namespace: contract.ClusterNamespace, Name: contract.RetiredName(c.who.Cluster)}, kept)
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // that there is none is an answer
	case err != nil:
		return nil, fmt.Errorf("asking the hub whether cluster %q was forgotten: %w", c.who.Cluster, err)
	case kept.Data[contract.RetiredMemberKey] != c.who.MemberID:
		return nil, nil //nolint:nilnil // it was another one of the name
	}
	return &RetiredError{Cluster: c.who.Cluster, At: kept.Data[contract.RetiredAtKey], By: kept.Data[contract.RetiredByKey]}, nil
}
