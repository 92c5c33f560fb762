package auth

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/hub/people/issuer"
)

// browser keeps cookies between requests.
type browser struct{ cookies map[string]*http.Cookie }

func (b *browser) call(what func(w http.ResponseWriter, r *http.Request)) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	for _, cookie := range b.cookies {
		r.AddCookie(cookie)
	}
	w := httptest.NewRecorder()
	what(w, r)
	for _, cookie := range w.Result().Cookies() {
		if b.cookies[cookie.Name] = cookie; cookie.MaxAge < 0 {
			delete(b.cookies, cookie.Name)
		}
	}
}

func TestAttemptsAreKeptByTheBrowser(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := &SignIn{Options: Options{Secure: true}}
	b := &browser{cookies: map[string]*http.Cookie{}}
	begin := func(state, to string) {
		b.call(func(w http.ResponseWriter, r *http.Request) {
			g.Expect(s.keepAttempt(w, r, attempt{Attempt: issuer.Attempt{State: state, Nonce: "n"}, To: to})).To(Succeed())
		})
	}
	take := func(state string) (a attempt, ok bool) {
		b.call(func(w http.ResponseWriter, r *http.Request) { a, ok = s.takeAttempt(w, r, state) })
		return a, ok
	}
	begin("first-one", "/clusters?q=<a>&b")
	begin("second-one", "/"+strings.Repeat("x", 3900))
	g.Expect(b.cookies).NotTo(BeEmpty())
	for _, cookie := range b.cookies {
		g.Expect(cookie.HttpOnly && cookie.Secure && cookie.Path == "/" && cookie.Domain == "" && cookie.SameSite == http.SameSiteLaxMode).To(BeTrue())
		g.Expect(cookie.Name).To(HavePrefix("__Host-"))
		g.Expect(len(cookie.Value)).To(BeNumerically("<=", maxAttemptCookie))
	}
	for _, state := range []string{"", "first", "first-on", "first-two", "third"} {
		_, ok := take(state)
		g.Expect(ok).To(BeFalse(), state)
	}
	begin("first-one", "/clusters?q=<a>&b") // a guess that begins with the same characters has used the attempt up
	a, ok := take("first-one")
	g.Expect(ok).To(BeTrue())
	g.Expect(a.To).To(Equal("/clusters?q=<a>&b"))
	_, ok = take("first-one")
	g.Expect(ok).To(BeFalse(), "it is good once")
	a, ok = take("second-one")
	g.Expect(ok).To(BeTrue(), "two windows do not disturb each other")
	g.Expect(a.To).To(Equal("/"))

	for i := range 10 * maxAttempts {
		begin(fmt.Sprintf("%d-attempt", i), "/")
		g.Expect(len(b.cookies)).To(BeNumerically("<=", maxAttempts+1))
	}
	value, err := encodeAttempt(attempt{Attempt: issuer.Attempt{State: "forged"}, To: "//evil.example"})
	g.Expect(err).NotTo(HaveOccurred())
	a, ok = decodeAttempt(value)
	g.Expect(ok).To(BeTrue())
	g.Expect(a.To).To(Equal("/"))
	_, ok = decodeAttempt("nonsense")
	g.Expect(ok).To(BeFalse())
}
