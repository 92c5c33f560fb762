package dashboard

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"fairlead.dev/hub/people/auth"
	"fairlead.dev/hub/people/issuer"
	"fairlead.dev/hub/people/live"
)

// visitFunc serves a signed-in user.
type visitFunc func(w http.ResponseWriter, r *http.Request, v *visit)

// signedIn serves signed-in users, and redirects the others to the sign-in page.
func (s *Server) signedIn(next visitFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		one := s.signIn.Session(r)
		if one == nil {
			if r.Method != http.MethodGet || strings.HasPrefix(r.URL.Path, "/live/") {
				http.Error(w, "You are not signed in any more.", http.StatusUnauthorized)
				return
			}
			to := "/signin"
			if back := r.URL.RequestURI(); back != "/" && auth.IsLocal(back) {
				to += "?to=" + url.QueryEscape(back)
			}
			http.Redirect(w, r, to, http.StatusSeeOther)
			return
		}
		s.exemptConnection(r, one.User)
		if !strings.HasPrefix(r.URL.Path, "/live/") {
			s.signIn.Sessions.Use(one) // live streams do not count as use: they reconnect without the person
		}
		v := &visit{request: r, session: one, user: one.User, now: s.clock.Now(), query: r.URL.Query()}
		if path, ok := strings.CutPrefix(r.URL.Path, "/live"); ok {
			// Links in fragments must lead to where those of the page itself lead.
			u := *r.URL
			u.Path, u.RawPath = path, strings.TrimPrefix(u.RawPath, "/live")
			v.request = r.Clone(r.Context())
			v.request.URL = &u
			v.query.Del(live.Have)
		}
		for _, part := range []string{"cluster", "namespace", "name"} {
			if name := r.PathValue(part); name != "" && !isName(name) {
				s.serveError(w, r, v, notFoundError{"No object on a hub can have this name."})
				return
			}
		}
		if err := s.awaitFilled(r.Context()); err != nil {
			s.serveError(w, r, v, err)
			return
		}
		next(w, r, v)
	})
}

// isName says whether a segment of a path can be the name of an object.
func isName(name string) bool {
	const longest = 253
	return len(name) <= longest && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != '_' && r != ':'
	}) && strings.Trim(name, ".") != ""
}

// fillTimeout is how long a page waits until the index is filled.
const fillTimeout = 10 * time.Second

// errFilling says that the index is not filled yet, so any page would be wrong.
var errFilling = errors.New("the hub is still reading its objects")

func (s *Server) awaitFilled(ctx context.Context) error {
	select {
	case <-s.filled:
		return nil
	default:
	}
	timer := s.clock.NewTimer(fillTimeout)
	defer timer.Stop()
	select {
	case <-s.filled:
		return nil
	case <-timer.C():
		return errFilling
	case <-ctx.Done():
		return ctx.Err()
	}
}

// notFoundError says that something does not exist, or is not visible to the user.
type notFoundError struct{ what string }

func (e notFoundError) Error() string { return e.what }

// badRequestError says what is wrong with a request.
type badRequestError struct{ what string }

func (e badRequestError) Error() string { return e.what }

// errorPage is the data of an error page.
type errorPage struct {
	Code              int
	Title, Text, Next string
}

// errTooManyMemberReads says that too many requests of a person, or of all, wait for members.
var errTooManyMemberReads = errors.New("too many requests wait for clusters")

// describeError turns an error into an error page.
func (s *Server) describeError(err error, u *auth.User) errorPage {
	var asked badRequestError
	var missing notFoundError
	var denied auth.DeniedError
	var away issuer.UnavailableError
	switch {
	case errors.As(err, &asked):
		return errorPage{http.StatusBadRequest, "That cannot be done", asked.what, "Go back, correct it and try again."}
	case errors.As(err, &denied):
		return errorPage{http.StatusForbidden, "You may not see this", denied.Error(), "An administrator of the hub can give " + u.Name + " this right by a Role or ClusterRole."}
	case errors.As(err, &missing):
		return errorPage{http.StatusNotFound, "Not found", missing.what, "It may have been deleted, or have another name."}
	case errors.As(err, &away):
		s.log.Error(err, "Renewing a sign-in failed")
		return errorPage{http.StatusServiceUnavailable, "Your sign-in cannot be renewed", "The issuer " + away.Host + " gives no valid answer; see the hub's log.", "Try again in a moment, or sign out, and in again with a token or a certificate."}
	case auth.IsEnded(err):
		return errorPage{http.StatusUnauthorized, "Your sign-in has expired", "The issuer does not renew it.", "Load this page again to sign in."}
	case apierrors.IsNotFound(err):
		return errorPage{http.StatusNotFound, "Not found", err.Error(), "It may have been deleted, or have another name."}
	case apierrors.IsForbidden(err):
		return errorPage{http.StatusForbidden, "You may not do this", err.Error(), "An administrator of the hub can give " + u.Name + " this right by a Role or ClusterRole."}
	case apierrors.IsUnauthorized(err):
		return errorPage{http.StatusUnauthorized, "Your credential has expired", "The hub no longer accepts it.", "Sign out, and sign in again with another one."}
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return errorPage{http.StatusBadRequest, "The hub refuses this", err.Error(), "Go back, correct it and try again."}
	case apierrors.IsConflict(err):
		return errorPage{http.StatusConflict, "Somebody else changed it first", err.Error(), "Check its current state, and try again if your change still makes sense."}
	case errors.Is(err, errTooManyMemberReads):
		return errorPage{http.StatusTooManyRequests, "Too many requests at once", "Too many pages, yours or those of all users, wait for answers of clusters.", "Load this page again when others have loaded."}
	case errors.Is(err, errFilling):
		return errorPage{http.StatusServiceUnavailable, "The hub is starting", "It is still reading its objects.", "Load this page again in a moment."}
	case errors.Is(err, context.DeadlineExceeded), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err), apierrors.IsTooManyRequests(err):
		return errorPage{http.StatusServiceUnavailable, "The hub's API is slow", "It did not answer in time.", "Try again in a moment."}
	default:
		s.log.Error(err, "Making a page failed")
		return errorPage{http.StatusBadGateway, "The hub's API gives no valid answer", err.Error(), "Try again in a moment; if it keeps failing, see the hub's log."}
	}
}

// serveError serves an error page.
func (s *Server) serveError(w http.ResponseWriter, r *http.Request, v *visit, err error) {
	if r.Context().Err() != nil {
		return // the client is gone
	}
	f := s.describeError(err, v.user)
	p := &page{title: f.Title, heading: heading{Title: f.Title}, fragments: []fragment{{id: "error", template: "failure", data: f}}}
	s.write(w, v, p, f.Code)
}
