package cli

import (
	"context"
	"fmt"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/fleet/registration/record"
)

// joinedCluster returns a Cluster whose member has joined.
func joinedCluster(ctx context.Context, hubClient client.Client, name string) (*clusterv1alpha1.Cluster, error) {
	cluster := &clusterv1alpha1.Cluster{}
	err := hubClient.Get(ctx, client.ObjectKey{Name: name}, cluster)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("there is no cluster %s on the hub: make a token for a new one with `hub token create --cluster %s`", name, name)
	case err != nil:
		return nil, fmt.Errorf("reading cluster %s: %w", name, err)
	case cluster.Spec.ID == "":
		return nil, fmt.Errorf("nobody has joined as cluster %s yet: make a token with `hub token create --cluster %s`", name, name)
	case !cluster.DeletionTimestamp.IsZero():
		return nil, fmt.Errorf("cluster %s is being removed: wait until it is gone, and make a token with `hub token create --cluster %s`", name, name)
	}
	return cluster, nil
}

// copied says why somebody else may have a copy of an agent's certificate; empty if there is no sign of it. The
// certificate that was issued last, for whose key a token would be sealed, may then be theirs.
func copied(ctx context.Context, hubClient client.Client, cluster *clusterv1alpha1.Cluster) (string, error) {
	const denied = "its agent asked for the next one and was denied"
	if cluster.Annotations[contract.CopiedAnnotation] != "" {
		return denied, nil
	}
	if meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1alpha1.ClusterSeveralAgents) {
		return "several agents pass for the one of this cluster", nil
	}
	// An older hub does not record it on the Cluster.
	request := &certificatesv1.CertificateSigningRequest{}
	err := hubClient.Get(ctx, client.ObjectKey{Name: contract.RenewalRequest(cluster.Name)}, request)
	switch {
	case apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("looking whether somebody else has the certificate of the agent of cluster %s: %w", cluster.Name, err)
	}
	for _, c := range request.Status.Conditions {
		if c.Type == certificatesv1.CertificateDenied && c.Reason == contract.ReasonNotTheLastCertificate {
			return denied, nil
		}
	}
	return "", nil
}

// callBack stores a token where the agent of a cluster finds it, if the hub knows the agent's key, and says whether it
// does.
func callBack(ctx context.Context, hubClient client.Client, cluster *clusterv1alpha1.Cluster, token bootstrap.Token, now time.Time) (bool, error) {
	known := record.Read[record.Certificate](cluster.Annotations, contract.CertificateAnnotation)
	if known == nil || len(known.Key) == 0 {
		return false, nil
	}
	sealed, err := bootstrap.Seal(known.Key, token)
	if err != nil {
		return false, err
	}
	calls := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespacePublic, Name: bootstrap.RejoinName}}
	err = hubClient.Get(ctx, client.ObjectKeyFromObject(calls), calls)
	if apierrors.IsNotFound(err) {
		calls.Labels = map[string]string{contract.SystemLabel: contract.LabelTrue}
		calls.Data = map[string]string{bootstrap.RejoinKey(known.Key): sealed}
		if err := hubClient.Create(ctx, calls, client.FieldOwner(contract.FieldManagerRegistration)); err != nil {
			return false, fmt.Errorf("calling the agent of cluster %s back: %w", cluster.Name, err)
		}
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("calling the agent of cluster %s back: %w", cluster.Name, err)
	}
	edit, err := kube.Begin(calls)
	if err != nil {
		return false, fmt.Errorf("calling the agent of cluster %s back: %w", cluster.Name, err)
	}
	for key, raw := range calls.Data { // expired ones
		if call, err := bootstrap.ParseRejoinToken(raw); err != nil || !call.Expires.After(now) {
			delete(calls.Data, key)
		}
	}
	if calls.Data == nil {
		calls.Data = map[string]string{}
	}
	calls.Data[bootstrap.RejoinKey(known.Key)] = sealed
	if _, err := edit.Commit(ctx, hubClient, contract.FieldManagerRegistration); err != nil {
		return false, fmt.Errorf("calling the agent of cluster %s back: %w; run the same command again", cluster.Name, err)
	}
	return true, nil
}
