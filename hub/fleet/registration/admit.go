package registration

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/fleet/registration/approve"
	"fairlead.dev/hub/fleet/registration/record"
)

// admit does what must precede the approval of a join, and reports whether all of it is done.
func (r *Reconciler) admit(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, found *found) (bool, error) {
	if err := r.useToken(ctx, csr, found); err != nil {
		return false, err
	}
	if found.input.ReservedFor != "" {
		// The member is back: its reservation is no longer needed, and would tell its agent to stop.
		if err := Release(ctx, r.hubClient, found.input.Request.Cluster); err != nil {
			return false, err
		}
	}
	if err := r.ensureCluster(ctx, csr, found); err != nil {
		return false, err
	}
	out, err := r.rights.Ensure(ctx, found.cluster, r.hubReader)
	return out.All, err
}

// useToken marks the token as used for this request. The write is conditional on the version of the token that was
// read, so of two concurrent requests only one gets it.
func (r *Reconciler) useToken(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, found *found) error {
	token := found.input.Token
	if token.UsedFor(string(csr.UID)) {
		return nil
	}
	edit, err := kube.Begin(found.secret)
	if err != nil {
		return fmt.Errorf("editing token %q: %w", token.ID, err)
	}
	token.Uses = append(token.Uses, bootstrap.Use{
		Cluster: found.input.Request.Cluster, Member: found.input.MemberID, Request: string(csr.UID), At: metav1.NewTime(r.clock.Now()).Rfc3339Copy().UTC(),
	})
	bootstrap.Record(found.secret, *token)
	if token.UsesLeft() == 0 {
		bootstrap.UseUp(found.secret)
	}
	if _, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerRegistration); err != nil {
		return fmt.Errorf("marking token %q as used: %w", token.ID, err)
	}
	return nil
}

// ensureCluster creates the Cluster, or gives the member's id to one that was created beforehand. The defaults of the
// token apply only to a Cluster that had no member: after that the operators decide.
func (r *Reconciler) ensureCluster(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, found *found) error {
	name, id := found.input.Request.Cluster, found.input.MemberID
	how, err := r.how(csr, found.input)
	if err != nil {
		return err
	}
	if found.cluster == nil {
		cluster := &clusterv1alpha1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{contract.JoinedAnnotation: how}},
			Spec:       clusterv1alpha1.ClusterSpec{ID: id, SyncMode: clusterv1alpha1.Pull},
		}
		setDefaults(cluster, found.input.Token.Gives)
		if err := r.hubClient.Create(ctx, cluster, client.FieldOwner(contract.FieldManagerRegistration)); err != nil {
			return fmt.Errorf("making cluster %q: %w", name, err)
		}
		ctrl.LoggerFrom(ctx).Info("Making the cluster", "Cluster", name)
		found.cluster = cluster
		return nil
	}
	edit, err := kube.Begin(found.cluster)
	if err != nil {
		return fmt.Errorf("editing cluster %q: %w", name, err)
	}
	if found.cluster.Spec.ID == "" {
		setDefaults(found.cluster, found.input.Token.Gives)
	}
	found.cluster.Spec.ID = id
	delete(found.cluster.Annotations, contract.CopiedAnnotation) // copied certificates have no rights from here on
	metav1.SetMetaDataAnnotation(&found.cluster.ObjectMeta, contract.JoinedAnnotation, how)
	if _, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerRegistration); err != nil {
		return fmt.Errorf("giving cluster %q its member: %w", name, err)
	}
	return nil
}

// how returns the record of how the member joins. Retries yield the same record.
func (r *Reconciler) how(csr *certificatesv1.CertificateSigningRequest, in approve.Input) (string, error) {
	out := record.Joined{ID: in.Request.Join, Token: in.Token.ID, TokenBy: in.Token.CreatedBy}
	for _, use := range in.Token.Uses {
		if use.Request == string(csr.UID) {
			out.At = use.At
		}
	}
	if word := in.Token.AcceptedFor(string(csr.UID)); word != nil {
		out.AcceptedBy = word.By
	}
	return record.Write(out)
}

// setDefaults applies the token's defaults to a Cluster.
func setDefaults(cluster *clusterv1alpha1.Cluster, defaults bootstrap.ClusterDefaults) {
	if len(defaults.Labels) > 0 && cluster.Labels == nil {
		cluster.Labels = map[string]string{}
	}
	maps.Copy(cluster.Labels, defaults.Labels)
	cluster.Spec.Region = cmp.Or(defaults.Region, cluster.Spec.Region)
	cluster.Spec.Provider = cmp.Or(defaults.Provider, cluster.Spec.Provider)
	if len(defaults.Zones) > 0 {
		cluster.Spec.Zones = defaults.Zones
	}
}

// recordIssued records on a Cluster the certificate that its agent was issued last.
func (r *Reconciler) recordIssued(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, request approve.Request) error {
	issued, err := record.Of(csr.Status.Certificate)
	if err != nil {
		ctrl.LoggerFrom(ctx).Info("Ignoring the certificate that the signer issued", "reason", err.Error())
		return nil
	}
	cluster := &clusterv1alpha1.Cluster{}
	err = r.hubClient.Get(ctx, client.ObjectKey{Name: request.Cluster}, cluster)
	if err != nil {
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading cluster %q: %w", request.Cluster, err)
		}
		return nil
	}
	before := record.Read[record.Certificate](cluster.Annotations, contract.CertificateAnnotation)
	if !record.IsNext(issued, before, record.JoinOf(cluster.Annotations)) {
		return nil
	}
	value, err := record.Write(issued)
	if err != nil {
		return err
	}
	if err := r.annotate(ctx, cluster, contract.CertificateAnnotation, value); err != nil {
		return fmt.Errorf("recording the certificate of cluster %q: %w", cluster.Name, err)
	}
	return nil
}

// recordCopied records on a Cluster, once, that somebody else may have a copy of its agent's certificate. The request
// that shows it does not last: agents may delete theirs, and Kubernetes deletes all after an hour.
//
// An agent that was killed during a renewal asks again with its previous certificate, for the key of the new one that
// it has not fetched. Nobody else has that key, so such a request is no sign of a copy.
func (r *Reconciler) recordCopied(ctx context.Context, cluster *clusterv1alpha1.Cluster, request approve.Request) error {
	if cluster.Annotations[contract.CopiedAnnotation] != "" {
		return nil
	}
	last := record.Read[record.Certificate](cluster.Annotations, contract.CertificateAnnotation)
	if last != nil && last.IsOf(request.PublicKey()) {
		return nil
	}
	value, err := record.Write(record.Copied{At: r.clock.Now().UTC().Truncate(time.Second), Fingerprint: request.Credential})
	if err != nil {
		return err
	}
	if err := r.annotate(ctx, cluster, contract.CopiedAnnotation, value); err != nil {
		return fmt.Errorf("recording that the certificate of cluster %q may have been copied: %w", cluster.Name, err)
	}
	return nil
}

// adopt records the join of an agent on a Cluster whose member joined before joins had ids, once the agent has a
// certificate of that join. Older certificates lose their rights.
func (r *Reconciler) adopt(ctx context.Context, cluster *clusterv1alpha1.Cluster, id string) error {
	joined := cmp.Or(record.Read[record.Joined](cluster.Annotations, contract.JoinedAnnotation), &record.Joined{})
	joined.ID = id
	value, err := record.Write(*joined)
	if err != nil {
		return err
	}
	if err := r.annotate(ctx, cluster, contract.JoinedAnnotation, value); err != nil {
		return fmt.Errorf("recording the join of cluster %q: %w", cluster.Name, err)
	}
	_, err = r.rights.Ensure(ctx, cluster, r.hubReader)
	return err
}

// annotate sets one annotation of a Cluster if its value differs.
func (r *Reconciler) annotate(ctx context.Context, cluster *clusterv1alpha1.Cluster, key, value string) error {
	edit, err := kube.Begin(cluster)
	if err != nil {
		return fmt.Errorf("editing cluster %q: %w", cluster.Name, err)
	}
	metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, key, value)
	_, err = edit.Commit(ctx, r.hubClient, contract.FieldManagerRegistration)
	return err
}

const (
	// fetchTime is how long a member that joined may fetch its certificate with the token.
	fetchTime = 5 * time.Minute
	// backdated is by how much the Kubernetes signer backdates certificates.
	backdated = 5 * time.Minute
)

// closeToken revokes the rights of a token that is used up, once its last holder has had time to fetch the certificate.
// It returns the delay until the next check; 0 if it is done.
//
// The time starts when the certificate is issued, not when the token is used: in between, the hub or the signer may
// have been down for any time, while the joining member waited.
func (r *Reconciler) closeToken(ctx context.Context, user string) (time.Duration, error) {
	id, ok := bootstrap.IDOfUser(user)
	if !ok {
		return 0, nil
	}
	secret := &corev1.Secret{}
	err := r.hubReader.Get(ctx, client.ObjectKey{Namespace: bootstrap.SecretNamespace, Name: bootstrap.SecretName(id)}, secret)
	if err != nil {
		if client.IgnoreNotFound(err) != nil {
			return 0, fmt.Errorf("reading token %q: %w", id, err)
		}
		return 0, nil
	}
	token, err := bootstrap.FromSecret(secret)
	if err != nil || token.UsesLeft() > 0 || bootstrap.IsClosed(secret) {
		return 0, nil //nolint:nilerr // a damaged token admits nobody
	}
	left, err := r.timeToFetch(ctx, user, token)
	if left > 0 || err != nil {
		return left, err
	}
	edit, err := kube.Begin(secret)
	if err != nil {
		return 0, fmt.Errorf("editing token %q: %w", id, err)
	}
	bootstrap.Close(secret)
	if _, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerRegistration); client.IgnoreNotFound(err) != nil {
		return 0, fmt.Errorf("closing token %q: %w", id, err)
	}
	ctrl.LoggerFrom(ctx).V(1).Info("Closed a token that is used up", "token", id)
	return 0, nil
}

// timeToFetch returns how long the holders of a token may still fetch their certificates with it.
func (r *Reconciler) timeToFetch(ctx context.Context, user string, token bootstrap.Token) (time.Duration, error) {
	requests, err := r.requestsOf(ctx, user)
	if err != nil {
		return 0, err
	}
	last, now := token.Uses[len(token.Uses)-1].At, r.clock.Now()
	for _, csr := range requests {
		switch {
		case !token.UsedFor(string(csr.UID)) || refused(csr):
		case len(csr.Status.Certificate) == 0:
			return fetchTime, nil // issuing the certificate triggers a reconcile, too
		default:
			if issued, err := record.Of(csr.Status.Certificate); err == nil && issued.From.Add(backdated).After(last) {
				last = issued.From.Add(backdated)
			}
		}
	}
	return last.Add(fetchTime).Sub(now), nil
}

// refused says whether a request was denied or failed.
func refused(csr *certificatesv1.CertificateSigningRequest) bool {
	return slices.ContainsFunc(csr.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool {
		return c.Type == certificatesv1.CertificateDenied || c.Type == certificatesv1.CertificateFailed
	})
}
