package dashboard

import (
	"net/http"
	"slices"
)

// maxBody bounds what a form may send; nothing here needs more.
const maxBody = 64 << 10

// contentPolicy allows the page its own style and script, and nothing else from anywhere.
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// guarded is around everything that is served: it says to browsers what they may do with an
// answer, refuses requests that other sites made, bounds bodies and how long an answer takes, and outlives mistakes.
func (s *Server) guarded(next http.Handler) http.Handler {
	own := http.NewCrossOriginProtection()
	own.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "This request was made by another site, and is refused.", http.StatusForbidden)
	}))
	next = own.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
		h.Set("X-Robots-Tag", "noindex")
		h.Set("Cache-Control", "no-store")
		// A name that points here from elsewhere is how a site on the network reads a page
		// that listens on the loopback address only.
		if len(s.hosts) > 0 && !slices.Contains(s.hosts, r.Host) {
			http.Error(w, "This name is not one of this page's.", http.StatusMisdirectedRequest)
			return
		}
		// Whoever takes nothing keeps what is made for them in memory. Streams bound each of their writes instead.
		_ = http.NewResponseController(w).SetWriteDeadline(s.clock.Now().Add(answerTimeout)) // what serves here can
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		defer s.recovered(w, r)
		next.ServeHTTP(w, r)
	})
}

// recovered turns a panic of a page into an error of that page.
func (s *Server) recovered(w http.ResponseWriter, r *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	if cause == http.ErrAbortHandler { //nolint:errorlint // It is panicked with as it is, by contract.
		panic(cause)
	}
	s.log.Error(nil, "Serving a page panicked", "path", r.URL.Path, "cause", cause)
	http.Error(w, "This page failed; the hub's log says why.", http.StatusInternalServerError)
}
