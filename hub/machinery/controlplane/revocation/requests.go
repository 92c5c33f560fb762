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

// Requests are the long-running requests that are open. The zero value has none. It may be
// used from many goroutines.
type Requests struct {
	mu   sync.Mutex
	open map[*openRequest]struct{}
}

type openRequest struct {
	user user.Info
	end  context.CancelFunc
}

// Watch wraps the handler behind authentication and authorization: a long-running request
// ends when End names who made it.
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
		// The right may have gone between its check and this request being on the list. Rights
		// are read from the same caches that call End, and these change before they call.
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
	decision, _, _ := rights.Authorize(ctx, attributes) // an error goes with a decision that is no permission
	return decision == authorizer.DecisionAllow
}

// add puts a request on the list, and returns what takes it off again.
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

// End ends the open requests of those whom any of the subjects names.
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

// matchesUser says whether a subject of a binding is a user, or a group that the user is in.
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
