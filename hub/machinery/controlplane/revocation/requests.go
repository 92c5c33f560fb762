package revocation

import (
	"context"
	"net/http"
	"slices"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// Requests are the open long-running requests. The zero value has none. It is safe for concurrent use.
type Requests struct {
	mu   sync.Mutex
	open map[*openRequest]struct{}
}

type openRequest struct {
	user user.Info
	end  context.CancelFunc
}

// Watch wraps a handler behind authentication and authorization: a long-running request ends when End names its user.
func (r *Requests) Watch(next http.Handler, longRunning request.LongRunningRequestCheck, rights authorizer.Authorizer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ctx := req.Context()
		info, known := request.RequestInfoFrom(ctx)
		who, authenticated := request.UserFrom(ctx)
		if !known || !authenticated || !longRunning(req, info) {
			next.ServeHTTP(w, req)
			return
		}
		ctx, end := context.WithCancel(ctx)
		defer end()
		defer r.add(&openRequest{user: who, end: end})()
		// The right may have been revoked between its check and the registration of the request. The authorizer reads
		// the same caches that call End, and these change before they call it.
		if !allowed(ctx, rights) {
			end()
		}
		next.ServeHTTP(w, req.WithContext(ctx))
	})
}

func allowed(ctx context.Context, rights authorizer.Authorizer) bool {
	attributes, err := filters.GetAuthorizerAttributes(ctx)
	if err != nil {
		return false
	}
	decision, _, _ := rights.Authorize(ctx, attributes) // if there is an error, the decision is not Allow
	return decision == authorizer.DecisionAllow
}

// add registers a request, and returns a function that removes it.
func (r *Requests) add(o *openRequest) (remove func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == nil {
		r.open = map[*openRequest]struct{}{}
	}
	r.open[o] = struct{}{}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.open, o)
	}
}

// End ends the open requests of users that any of the subjects matches.
func (r *Requests) End(subjects []rbacv1.Subject) {
	if len(subjects) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for o := range r.open {
		if slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool { return matchesUser(s, o.user) }) {
			o.end()
		}
	}
}

// matchesUser says whether a subject of a binding is a user, or a group of the user.
func matchesUser(subject rbacv1.Subject, who user.Info) bool {
	switch subject.Kind {
	case rbacv1.UserKind:
		return who.GetName() == subject.Name
	case rbacv1.GroupKind:
		return slices.Contains(who.GetGroups(), subject.Name)
	case rbacv1.ServiceAccountKind:
		return serviceaccount.MatchesUsername(subject.Namespace, subject.Name, who.GetName())
	default:
		return false
	}
}
