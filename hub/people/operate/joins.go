package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/fleet/registration/approve"
)

// Request is a join that waits for an operator.
type Request struct {
	Cluster string
	CSR     *certificatesv1.CertificateSigningRequest
}

// Member returns the id that the member claims.
func (r Request) Member() string { return r.CSR.Annotations[contract.MemberIDAnnotation] }

// Token returns the id of the token that authenticated the request; empty if none did.
func (r Request) Token() string {
	id, _ := bootstrap.IDOfUser(r.CSR.Spec.Username)
	return id
}

// String returns the name of the request, with details that the requester cannot choose.
func (r Request) String() string {
	return fmt.Sprintf("%s (made with token %s at %s)", r.CSR.Name, cmp.Or(r.Token(), "unknown"), r.CSR.CreationTimestamp.UTC().Format(time.RFC3339))
}

// WaitingJoins returns the joins that wait for operators, the oldest first.
func WaitingJoins(ctx context.Context, hubClient client.Client) ([]Request, error) {
	var csrs certificatesv1.CertificateSigningRequestList
	if err := hubClient.List(ctx, &csrs); err != nil {
		return nil, fmt.Errorf("listing the requests of members: %w", err)
	}
	slices.SortStableFunc(csrs.Items, func(a, b certificatesv1.CertificateSigningRequest) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	var out []Request
	for i := range csrs.Items {
		csr := &csrs.Items[i]
		request, ours := approve.Read(csr.Spec)
		if ours && len(csr.Status.Conditions) == 0 && csr.Annotations[contract.PendingAnnotation] != "" {
			out = append(out, Request{Cluster: request.Cluster, CSR: csr})
		}
	}
	return out, nil
}

// RequestFilter selects among the requests for a name; empty fields match any.
type RequestFilter struct {
	// Request and UID are the name and UID of the request.
	Request string
	UID     types.UID
	// Member is the id of the member. A requester can claim any id.
	Member string
}

// WaitingFor returns the join of one cluster that waits for an operator.
func WaitingFor(ctx context.Context, hubClient client.Client, name string, which RequestFilter) (Request, error) {
	waiting, err := WaitingJoins(ctx, hubClient)
	if err != nil {
		return Request{}, err
	}
	return chooseRequest(waiting, name, which)
}

// chooseRequest returns the only matching request. Whoever has a token that admits the name may request it and claim
// the id of another member: if several requests match, only a person can tell which one is the member's.
func chooseRequest(waiting []Request, name string, which RequestFilter) (Request, error) {
	waiting = slices.DeleteFunc(slices.Clone(waiting), func(r Request) bool {
		return r.Cluster != name || which.Request != "" && r.CSR.Name != which.Request || which.UID != "" && r.CSR.UID != which.UID ||
			which.Member != "" && r.Member() != which.Member
	})
	switch {
	case len(waiting) == 1:
		return waiting[0], nil
	case len(waiting) > 1:
		each := make([]string, 0, len(waiting))
		for _, r := range waiting {
			each = append(each, r.String())
		}
		return Request{}, fmt.Errorf("%d requests to join as cluster %s wait: choose one with --request, by the name that its agent printed: %s",
			len(waiting), name, strings.Join(each, ", "))
	case which == RequestFilter{}:
		return Request{}, fmt.Errorf("no member waits to join as cluster %s; `hub clusters` lists those that do", name)
	default:
		return Request{}, fmt.Errorf("that request to join as cluster %s does not wait (any more); `hub clusters` lists those that do", name)
	}
}

// Accept records on the token of a request that it is accepted, which only operators may do, and triggers a reconcile
// of the request. It may be repeated after an interruption.
func Accept(ctx context.Context, hubClient client.Client, r Request, by string, now time.Time) error {
	csr := r.CSR
	id, ok := bootstrap.IDOfUser(csr.Spec.Username)
	if !ok {
		return fmt.Errorf("request %s was not made with a join token", csr.Name)
	}
	secret := &corev1.Secret{}
	if err := hubClient.Get(ctx, client.ObjectKey{Namespace: bootstrap.SecretNamespace, Name: bootstrap.SecretName(id)}, secret); err != nil {
		return fmt.Errorf("reading token %s, with which request %s was made: %w", id, csr.Name, err)
	}
	token, err := bootstrap.FromSecret(secret)
	if err != nil {
		return err
	}
	edit, err := kube.Begin(secret)
	if err != nil {
		return fmt.Errorf("editing token %s: %w", id, err)
	}
	if token.AcceptedFor(string(csr.UID)) == nil {
		token.Accepted = append(token.Accepted, bootstrap.Acceptance{Request: string(csr.UID), By: by, At: metav1.NewTime(now).Rfc3339Copy().UTC()})
	}
	bootstrap.Record(secret, token)
	if _, err := edit.Commit(ctx, hubClient, contract.FieldManagerRegistration); err != nil {
		return fmt.Errorf("accepting request %s: %w; run the same command again", csr.Name, err)
	}
	if err := wake(ctx, hubClient, csr, by); err != nil {
		return fmt.Errorf("waking the hub for request %s: %w; it looks again by itself", csr.Name, err)
	}
	return nil
}

// wake records on a request who accepted it, which the hub watches. Conflicts are retried, since the hub writes to it
// as well; a write whose response was lost is not repeated.
func wake(ctx context.Context, hubClient client.Client, csr *certificatesv1.CertificateSigningRequest, by string) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		accepted := csr.DeepCopy() // a failed write must not leave the mark on the request
		edit, err := kube.Begin(accepted)
		if err != nil {
			return fmt.Errorf("editing it: %w", err)
		}
		metav1.SetMetaDataAnnotation(&accepted.ObjectMeta, contract.AcceptedAnnotation, by)
		_, err = edit.Commit(ctx, hubClient, contract.FieldManagerRegistration)
		switch {
		case err == nil:
			*csr = *accepted
		case apierrors.IsConflict(err):
			if err := hubClient.Get(ctx, client.ObjectKeyFromObject(csr), csr); err != nil {
				return fmt.Errorf("reading it again: %w", err)
			}
		}
		return err //nolint:wrapcheck // the caller wraps it
	})
}

// How long the hub may take to act on an acceptance, and how often it is polled.
const (
	decisionTimeout = 20 * time.Second
	decisionPoll    = 100 * time.Millisecond
)

// AwaitDecision waits for the hub's decision about a request, and returns it.
func AwaitDecision(ctx context.Context, hubClient client.Client, r Request) (certificatesv1.CertificateSigningRequestCondition, error) {
	var out certificatesv1.CertificateSigningRequestCondition
	err := wait.PollUntilContextTimeout(ctx, decisionPoll, decisionTimeout, true, func(ctx context.Context) (bool, error) {
		if err := hubClient.Get(ctx, client.ObjectKeyFromObject(r.CSR), r.CSR); err != nil {
			return false, fmt.Errorf("reading request %s: %w", r.CSR.Name, err)
		}
		if len(r.CSR.Status.Conditions) == 0 {
			return false, nil
		}
		out = r.CSR.Status.Conditions[0]
		return true, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return out, fmt.Errorf("request %s is accepted, but the hub has not acted on it within %s: check whether `hub serve` runs", r.CSR.Name, decisionTimeout)
	}
	return out, err
}

// WhoAmI returns the user name of a client at the hub's API.
func WhoAmI(ctx context.Context, hubClient client.Client) (string, error) {
	review := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}}
	if err := hubClient.Create(ctx, review); err != nil {
		return "", fmt.Errorf("asking the hub who you are: %w", err)
	}
	user, ok, err := unstructured.NestedString(review.Object, "status", "userInfo", "username")
	if err != nil || !ok {
		return "", errors.New("the hub does not say who you are")
	}
	return user, nil
}
