package dashboard

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	testclock "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/hub/people/auth"
)

// away is an API that does not answer.
type away struct{ client.Client }

func (away) Create(context.Context, client.Object, ...client.CreateOption) error {
	return errors.New("the API is away")
}

// TestAnOpenPageDoesNotUseItsSession: an open page sends requests whether or not somebody is there, so they must not
// extend the session.
func TestAnOpenPageDoesNotUseItsSession(t *testing.T) {
	t.Parallel()
	for path, lasts := range map[string]bool{"/live/clusters": false, "/clusters": true} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			now := testclock.NewFakeClock(time.Now())
			s, err := New(Deps{Config: &rest.Config{}, Mapper: meta.NewDefaultRESTMapper(nil), Cache: struct{ cache.Cache }{}, Clock: now, Log: logr.Discard()})
			g.Expect(err).NotTo(HaveOccurred())
			close(s.filled)
			cookie := &http.Cookie{Name: "__Host-fairlead", Value: s.signIn.Sessions.Open(auth.NewUser("anna", away{}, now))}
			signedIn := false
			for range 5 {
				now.Step(45 * time.Minute)
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
				r.AddCookie(cookie)
				w := httptest.NewRecorder()
				s.Handler().ServeHTTP(w, r)
				signedIn = w.Code != http.StatusUnauthorized && w.Code != http.StatusSeeOther
			}
			g.Expect(signedIn).To(Equal(lasts))
		})
	}
}
