package registration

import (
	"cmp"
	"context"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/fleet/registration/approve"
	"fairlead.dev/hub/fleet/registration/record"
)

// found is the input of the decision about a request, and the objects that it was read from.
type found struct {
	input   approve.Input
	secret  *corev1.Secret
	cluster *clusterv1alpha1.Cluster
}

// gather reads live: joins are rare, Secrets are not cached at all, and a Cluster that was created a moment ago may
// have taken the name.
func (r *Reconciler) gather(
	ctx context.Context, csr *certificatesv1.CertificateSigningRequest, request approve.Request,
) (*found, error) {
	out := &found{input: approve.Input{
		Now:      r.clock.Now(),
		Request:  request,
		UID:      string(csr.UID),
		Manual:   r.manual,
		MemberID: csr.Annotations[contract.MemberIDAnnotation],
		AskOnly:  csr.Annotations[contract.AskOnlyAnnotation] == contract.LabelTrue,
	}}
	if err := r.gatherToken(ctx, out); err != nil {
		return nil, err
	}
	if problem := bootstrap.ValidateClusterName(request.Cluster); problem != nil {
		return out, nil //nolint:nilerr // no Cluster can have that name, so the request is denied
	}
	if err := r.gatherReservation(ctx, out); err != nil {
		return nil, err
	}
	return out, r.gatherClusters(ctx, out, csr.Annotations[contract.PresentedCertificateAnnotation])
}

// later says whether the certificate that the agent presents was issued after the last one that the hub recorded: then
// the hub was restored from an older backup. What the agent presents counts only if it is the certificate that the API
// server authenticated.
func later(presented, credential string, last record.Certificate) bool {
	cert, err := record.Of([]byte(presented))
	return err == nil && credential != "" && cert.Fingerprint == credential && cert.From.After(last.From)
}

func (r *Reconciler) gatherToken(ctx context.Context, out *found) error {
	id, ok := bootstrap.IDOfUser(out.input.Request.User)
	if !ok {
		return nil
	}
	secret := &corev1.Secret{}
	err := r.hubReader.Get(ctx, client.ObjectKey{Namespace: bootstrap.SecretNamespace, Name: bootstrap.SecretName(id)}, secret)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading token %q: %w", id, err)
	}
	token, err := bootstrap.FromSecret(secret)
	if err != nil {
		ctrl.LoggerFrom(ctx).Info("Ignoring a damaged token", "token", id, "reason", err.Error())
		return nil // as if there were none
	}
	out.secret = secret
	out.input.Token = &token
	return nil
}

// gatherReservation reads whether the name is reserved for a member that was forgotten.
func (r *Reconciler) gatherReservation(ctx context.Context, out *found) error {
	name := out.input.Request.Cluster
	kept := &corev1.ConfigMap{}
	err := r.hubReader.Get(ctx, client.ObjectKey{Namespace: contract.ClusterNamespace, Name: contract.RetiredName(name)}, kept)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("looking whether the name %q is kept: %w", name, err)
	}
	if err == nil {
		// The name of a Cluster that no member had joined is reserved for nobody.
		out.input.ReservedFor = cmp.Or(kept.Data[contract.RetiredMemberKey], "nobody")
	}
	return nil
}

func (r *Reconciler) gatherClusters(ctx context.Context, out *found, presented string) error {
	name := out.input.Request.Cluster
	cluster := &clusterv1alpha1.Cluster{}
	err := r.hubReader.Get(ctx, client.ObjectKey{Name: name}, cluster)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading cluster %q: %w", name, err)
	}
	if err == nil {
		out.cluster = cluster
		out.input.Cluster = &approve.Cluster{
			ID: cluster.Spec.ID, Leaving: !cluster.DeletionTimestamp.IsZero() || record.IsRetired(cluster.Annotations), Join: record.JoinOf(cluster.Annotations),
		}
		last := record.Read[record.Certificate](cluster.Annotations, contract.CertificateAnnotation)
		// A certificate of an earlier join does not tell who has that of the present join.
		if last != nil && !last.OfAnother(out.input.Cluster.Join) && !later(presented, out.input.Request.Credential, *last) {
			out.input.Cluster.Fingerprint = last.Fingerprint
		}
	}
	if out.input.MemberID == "" {
		return nil
	}
	var same clusterv1alpha1.ClusterList
	if err := r.hubReader.List(ctx, &same, client.MatchingFields{"spec.id": out.input.MemberID}); err != nil {
		return fmt.Errorf("listing the clusters of member %q: %w", out.input.MemberID, err)
	}
	for i := range same.Items {
		if other := same.Items[i].Name; other != name {
			out.input.Others = append(out.input.Others, other)
		}
	}
	return nil
}
