package registration

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
)

// Right is a permission that an agent needs in its member.
type Right struct {
	// Group and Resource name the resource; * matches any.
	Group, Resource string
	// Namespace is where; empty means all namespaces.
	Namespace string
	// Name is the object; empty means any.
	Name string
	// Verbs are the verbs that the agent needs.
	Verbs []string
}

// member checks whether the member answers, and whether the agent has the rights that it needs there.
func (c *checks) member(ctx context.Context, o Options) {
	ctx, cancel := context.WithTimeout(ctx, 2*checkTimeout)
	defer cancel()
	var err error
	if c.memberID, err = MemberID(ctx, o.Member); err != nil {
		c.fail("member", err)
		c.skip("not checked: the member does not answer", "rights")
		return
	}
	c.pass("member", "its API at %s answers; its id is %s", o.Member.Host, c.memberID)
	missing, err := lacking(ctx, o.Member, o.Rights)
	switch {
	case err != nil:
		c.failed("rights", err.Error(), "check whether the member's API is healthy")
	case len(missing) > 0:
		c.failed("rights", "the agent may not "+strings.Join(missing, ", nor "),
			"use a kubeconfig of the member that may, or give its user these rights there; `agent join --print manifests` shows a role that has them")
	default:
		c.pass("rights", "the agent has the rights that it needs in the member")
	}
}

// lacking asks the member which of the needed rights are missing.
func lacking(ctx context.Context, member *rest.Config, needed []Right) ([]string, error) {
	scheme := runtime.NewScheme()
	if err := authorizationv1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("making a client of the member: %w", err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview"), meta.RESTScopeRoot)
	memberClient, err := client.New(member, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("making a client of the member: %w", err)
	}
	var out []string
	for _, right := range needed {
		var verbs []string
		for _, verb := range right.Verbs {
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: right.Namespace, Name: right.Name, Verb: verb, Group: right.Group, Resource: right.Resource,
				},
			}}
			if err := memberClient.Create(ctx, review); err != nil {
				return nil, fmt.Errorf("asking the member what the agent may do: %w", err)
			}
			if !review.Status.Allowed {
				verbs = append(verbs, verb)
			}
		}
		if len(verbs) > 0 {
			out = append(out, strings.Join(verbs, "/")+" "+right.String())
		}
	}
	return out, nil
}

// String describes what the right is about.
func (r Right) String() string {
	what := r.Resource
	switch {
	case r.Resource == "*":
		what = "objects of any kind"
	case r.Group != "":
		what += "." + r.Group
	}
	if r.Name != "" {
		what += " " + r.Name
	}
	if r.Namespace != "" {
		what += " in " + r.Namespace
	}
	return what
}

// name asks the hub whether it would let this member join under this name.
func (c *checks) name(ctx context.Context) {
	switch {
	case c.ca == nil:
		c.skip("not checked: the hub was not reached, or it is not certain who answers", "name")
		return
	case c.memberID == "":
		c.skip("not checked: the member does not answer", "name")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 2*checkTimeout)
	defer cancel()
	if request, err := c.stopped(ctx); err != nil {
		c.fail("name", err)
		return
	} else if request != "" {
		c.pass("name", "%s was already requested, with request %s of an interrupted join; joining continues with it", c.parameters.Cluster, request)
		return
	}
	err := c.askDecision(ctx)
	answer, answered := errors.AsType[*DeniedError](err)
	switch {
	case answered && answer.Reason == contract.ReasonJoinPossible:
		c.pass("name", "%s is free for it; the hub says: %s", c.parameters.Cluster, answer.Message)
	case answered:
		is, advice, _ := strings.Cut(answer.Message, ": ")
		c.failed("name", is, "%s", strings.TrimSuffix(advice, "."))
	case err != nil:
		c.fail("name", err)
	}
}

// stopped returns the name of an interrupted join's request, if it can be resumed: that join may have used up the
// token, so that a new request would be refused. It is empty if there is none.
func (c *checks) stopped(ctx context.Context) (string, error) {
	key, err := c.state.begunKey(keyFile)
	if key == nil || err != nil {
		return "", err
	}
	hubClient, err := newClient(c.bearer(c.ca))
	if err != nil {
		return "", err
	}
	desired, err := c.newRequest(key)
	if err != nil {
		return "", err
	}
	live := &certificatesv1.CertificateSigningRequest{}
	c.retrier.deadline = c.retrier.clock.Now().Add(checkTimeout)
	err = c.retrier.do(ctx, func(ctx context.Context) error {
		err := hubClient.Get(ctx, client.ObjectKeyFromObject(desired), live)
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
			return err //nolint:wrapcheck // only its kind is looked at
		}
		return c.apiError("reading the request on the hub", err)
	})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return "", nil // askDecision reports what is wrong with the token
	case err != nil:
		return "", err
	}
	if _, err := c.answer(live, false); err != nil && !errors.As(err, new(temporaryError)) {
		return "", nil // the join will drop it and make another
	}
	return live.Name, nil
}

// askDecision asks the hub what it would decide. The answer is a DeniedError.
func (c *checks) askDecision(ctx context.Context) error {
	hubClient, err := newClient(c.bearer(c.ca))
	if err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("making a key: %w", err)
	}
	desired, err := c.newRequest(key)
	if err != nil {
		return err
	}
	desired.Annotations[contract.AskOnlyAnnotation] = contract.LabelTrue
	c.retrier.deadline = c.retrier.clock.Now().Add(checkTimeout)
	if _, err := c.create(ctx, hubClient, desired); err != nil {
		return err
	}
	_, err = c.await(ctx, hubClient, desired, true)
	return err
}

// RightsToApply returns the rights that an agent needs in its member. Namespaces and kinds, each as RESOURCE or
// RESOURCE.GROUP, restrict them unless they are empty. With an account the agent impersonates that ServiceAccount
// inside namespaces, so that its own rights there are only to watch; if it also has namespaces, it writes nothing
// itself.
func RightsToApply(namespaces, kinds []string, account string) []Right {
	read := []string{"get", "list", "watch"}
	out := []Right{
		{Resource: "nodes", Verbs: slices.Clone(read[1:])},
		{Resource: "pods", Verbs: slices.Clone(read[1:])},
	}
	verbs := append(slices.Clone(read), "create", "patch", "delete")
	if account != "" && len(namespaces) > 0 {
		verbs = read
	}
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	if len(kinds) == 0 {
		kinds = []string{"*.*"}
	}
	for _, namespace := range namespaces {
		if account != "" {
			out = append(out, Right{Resource: "serviceaccounts", Namespace: namespace, Name: account, Verbs: []string{"impersonate"}})
		}
		for _, kind := range kinds {
			resource, group, _ := strings.Cut(kind, ".")
			out = append(out, Right{Group: group, Resource: resource, Namespace: namespace, Verbs: slices.Clone(verbs)})
		}
	}
	return out
}
