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

// The limit on requests per token: enough for members that retry, and too few to fill the hub's database.
const (
	spareRequests  = 20
	requestsPerUse = 5
	// floodTime tells a flood from retries: more requests than the limit within this time are a flood.
	floodTime = time.Minute
)

// bound enforces the limit on requests of the token with which a request was made, and says whether it deleted the
// request. If a member has retried for hours, its oldest requests are deleted. If the excess came within floodTime, or
// is still undecided, somebody floods the hub: the token is closed, and the newest requests are deleted.
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
		why = fmt.Sprintf("more than %d requests, and the oldest are not decided", limit)
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

// requestsByUser is the index of requests by the user who made them, since thousands exist while a fleet joins.
const requestsByUser = "user"

// userOf is the index function of requestsByUser.
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

// closeFlooding closes a token, if it still exists, and emits an event with the reason.
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
