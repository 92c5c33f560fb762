package auth

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Access is an action on the hub's API that a user may or may not take.
type Access struct {
	Verb, Group, Resource, Namespace, Name string
}

func (a Access) String() string {
	out := a.Verb + " " + a.Resource
	if a.Group != "" {
		out += "." + a.Group
	}
	if a.Namespace != "" {
		out += " in namespace " + a.Namespace
	}
	return out
}

// granted is an answer of the API server about a right, and the time of the answer.
type granted struct {
	yes bool
	at  time.Time
}

// How long an answer about a right is cached, and how many answers are cached for a user. A refusal is cached briefly, since the right may
// just have been granted.
const (
	rightsFor = 30 * time.Second
	deniedFor = 3 * time.Second
	maxRights = 4096
)

// May asks the API server whether the user has a right. The answer only decides what is shown: the API server checks every action again.
func (u *User) May(ctx context.Context, a Access) (bool, error) {
	now := u.clock.Now()
	u.mu.Lock()
	known, ok := u.rights[a]
	u.mu.Unlock()
	span := deniedFor
	if known.yes {
		span = rightsFor
	}
	if ok && now.Sub(known.at) < span {
		return known.yes, nil
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: a.Verb, Group: a.Group, Resource: a.Resource, Namespace: a.Namespace, Name: a.Name,
		},
	}}
	if err := u.Hub.Create(ctx, review); err != nil {
		return false, fmt.Errorf("asking whether %s may %s: %w", u.Name, a, err)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.rights) >= maxRights {
		clear(u.rights)
	}
	u.rights[a] = granted{yes: review.Status.Allowed, at: now}
	return review.Status.Allowed, nil
}

// Scope has the namespaces in which a user may list a resource.
type Scope struct {
	// All stands for all namespaces.
	All        bool
	namespaces map[string]bool
}

// Has says whether a namespace is in the Scope; the empty name stands for cluster-scoped objects.
func (s Scope) Has(namespace string) bool { return s.All || s.namespaces[namespace] }

// None says that the user may list nothing.
func (s Scope) None() bool { return !s.All && len(s.namespaces) == 0 }

// maxNamespacesAsked bounds the namespaces for which a user who may not list all of them is checked one by one.
const (
	maxNamespacesAsked = 2000
	askedAtOnce        = 16
)

// ScopeOf asks the API server where the user may list a resource: in all namespaces, or else in which of these.
func (u *User) ScopeOf(ctx context.Context, a Access, namespaces []string) (Scope, error) {
	a.Verb = "list"
	all, err := u.May(ctx, a)
	if err != nil || all {
		return Scope{All: all}, err
	}
	out := Scope{namespaces: map[string]bool{}}
	var mu sync.Mutex
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(askedAtOnce)
	for i, namespace := range namespaces {
		if i >= maxNamespacesAsked {
			break
		}
		if namespace == "" {
			continue
		}
		g.Go(func() error {
			here := a
			here.Namespace = namespace
			yes, err := u.May(gctx, here)
			if yes {
				mu.Lock()
				defer mu.Unlock()
				out.namespaces[namespace] = true
			}
			return err
		})
	}
	return out, g.Wait()
}

// Require returns a DeniedError if the user lacks a right.
func (u *User) Require(ctx context.Context, a Access) error {
	yes, err := u.May(ctx, a)
	if err == nil && !yes {
		err = DeniedError{User: u.Name, Access: a}
	}
	return err
}

// DeniedError names the right that a user lacks.
type DeniedError struct {
	User   string
	Access Access
}

func (e DeniedError) Error() string {
	return e.User + " may not " + e.Access.String() + " on this hub."
}

// Status implements apierrors.APIStatus, as a refusal of the API server does.
func (e DeniedError) Status() metav1.Status {
	return metav1.Status{Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: e.Error()}
}
