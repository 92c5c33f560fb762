package registration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// How many requests of one token there may be at once: enough for members that try again, and not
// enough to fill the hub's database.
const (
	spareRequests  = 20
	requestsPerUse = 5
	// floodTime is how young the oldest of too many requests is if somebody floods the hub, and
	// not only tries again and again.
	floodTime = time.Minute
)

// bound bounds the requests of the token that a request was made with, and says whether the
// request went with that. Of a member that tries for hours the oldest are dropped; a token with
// which somebody floods the hub is closed, and what is too much is deleted.
func (r *Reconciler) bound(ctx context.Context, csr *certificatesv1.CertificateSigningRequest) (bool, error) {
	id, ok := bootstrap.IDOfUser(csr.Spec.Username)
	if !ok {
		return false, nil
	}
	all, err := r.requestsOf(ctx, csr.Spec.Username)
	if err != nil || len(all) <= spareRequests {
		return false, err
	}
	secret := &corev1.Secret{}
	err = r.hubReader.Get(ctx, client.ObjectKey{Namespace: bootstrap.SecretNamespace, Name: bootstrap.SecretName(id)}, secret)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading token %q: %w", id, err)
	}
	limit := spareRequests
	if token, err := bootstrap.FromSecret(secret); err == nil {
		limit += requestsPerUse * token.MaxUses
	}
	if len(all) <= limit {
		return false, nil
	}
	excess, why := all[:len(all)-limit], ""
	switch {
	case r.clock.Since(excess[len(excess)-1].CreationTimestamp.Time) < floodTime:
		why = fmt.Sprintf("more than %d requests in a minute", limit)
	case slices.ContainsFunc(excess, pending):
		why = fmt.Sprintf("more than %d requests, the oldest of which are not decided", limit)
	}
	if why != "" {
		excess = all[limit:]
		if err := r.closeFlooding(ctx, secret, id, why); err != nil {
			return false, err
		}
	}
	for _, other := range excess {
		err := r.hubClient.Delete(ctx, other, client.Preconditions{UID: &other.UID})
		if client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("deleting request %q of token %q: %w", other.Name, id, err)
		}
	}
	return slices.ContainsFunc(excess, func(other *certificatesv1.CertificateSigningRequest) bool { return other.UID == csr.UID }), nil
}

// requestsByUser has requests by the user who made them. A fleet that joins has thousands of them.
const requestsByUser = "user"

// userOf is what requests are indexed by.
func userOf(obj client.Object) []string {
	if csr, ok := obj.(*certificatesv1.CertificateSigningRequest); ok {
		return []string{csr.Spec.Username}
	}
	return nil
}

// requestsOf returns the requests that a user made, the oldest first.
func (r *Reconciler) requestsOf(ctx context.Context, user string) ([]*certificatesv1.CertificateSigningRequest, error) {
	var list certificatesv1.CertificateSigningRequestList
	if err := r.hubClient.List(ctx, &list, client.MatchingFields{requestsByUser: user}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the requests of %q: %w", user, err)
	}
	out := make([]*certificatesv1.CertificateSigningRequest, len(list.Items))
	for i := range list.Items {
		out[i] = list.Items[i].DeepCopy()
	}
	slices.SortFunc(out, func(a, b *certificatesv1.CertificateSigningRequest) int {
		if order := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); order != 0 {
			return order
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out, nil
}

// closeFlooding closes a token, if it is still there, and tells people why.
func (r *Reconciler) closeFlooding(ctx context.Context, secret *corev1.Secret, id, why string) error {
	if secret.UID == "" || bootstrap.IsClosed(secret) {
		return nil
	}
	edit, err := kube.Begin(secret)
	if err != nil {
		return fmt.Errorf("editing token %q: %w", id, err)
	}
	bootstrap.Close(secret)
	metav1.SetMetaDataAnnotation(&secret.ObjectMeta, contract.TokenClosedAnnotation, why)
	if _, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerRegistration); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("closing token %q: %w", id, err)
	}
	ctrl.LoggerFrom(ctx).Info("Closed a token that floods the hub with requests", "token", id)
	r.events(flooded(secret, id, why))
	return nil
}
