package dashboard

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// access is something that a person may or may not do.
type access struct {
	verb, group, resource, namespace, name string
}

func (a access) String() string {
	out := a.verb + " " + a.resource
	if a.group != "" {
		out += "." + a.group
	}
	if a.namespace != "" {
		out += " in namespace " + a.namespace
	}
	return out
}

// granted is what the API server said, and when.
type granted struct {
	yes bool
	at  time.Time
}

// How long an answer about rights is used again, and how many are kept for a person. A no is
// used for a short while only: somebody may just have been given the right.
const (
	rightsFor = 30 * time.Second
	deniedFor = 3 * time.Second
	maxRights = 4096
)

// may asks the API server whether a person may do something. The answer is about what to
// show only: whatever is done, the API server decides again.
func (s *Server) may(ctx context.Context, p *person, a access) (bool, error) {
	now := s.clock.Now()
	p.mu.Lock()
	known, ok := p.rights[a]
	p.mu.Unlock()
	span := deniedFor
	if known.yes {
		span = rightsFor
	}
	if ok && now.Sub(known.at) < span {
		return known.yes, nil
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: a.verb, Group: a.group, Resource: a.resource, Namespace: a.namespace, Name: a.name,
		},
	}}
	if err := p.hub.Create(ctx, review); err != nil {
		return false, fmt.Errorf("asking whether %s may %s: %w", p.name, a, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.rights) >= maxRights {
		clear(p.rights)
	}
	p.rights[a] = granted{yes: review.Status.Allowed, at: now}
	return review.Status.Allowed, nil
}

// scope is in which namespaces a person may list something.
type scope struct {
	all        bool
	namespaces map[string]bool
}

// has says whether a namespace is in the scope; the empty one is that of cluster-scoped
// objects.
func (s scope) has(namespace string) bool { return s.all || s.namespaces[namespace] }

// none says that a person may list nothing.
func (s scope) none() bool { return !s.all && len(s.namespaces) == 0 }

// maxNamespacesAsked bounds for how many namespaces one by one it is asked what a person may
// see who may not see all.
const (
	maxNamespacesAsked = 2000
	askedAtOnce        = 16
)

// scopeOf asks where a person may list something: everywhere, or else in which of these
// namespaces.
func (s *Server) scopeOf(ctx context.Context, p *person, a access, namespaces []string) (scope, error) {
	a.verb = "list"
	all, err := s.may(ctx, p, a)
	if err != nil || all {
		return scope{all: all}, err
	}
	out := scope{namespaces: map[string]bool{}}
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
			here.namespace = namespace
			yes, err := s.may(gctx, p, here)
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

// must returns an error that says what a person may not do.
func (s *Server) must(ctx context.Context, p *person, a access) error {
	yes, err := s.may(ctx, p, a)
	if err == nil && !yes {
		err = deniedError{p.name + " may not " + a.String() + " on this hub."}
	}
	return err
}

// makesTokens is what letting a cluster join needs.
func makesTokens() access {
	return access{verb: "create", resource: "secrets", namespace: "kube-system"}
}
