package dashboard

import (
	"net/http"
	"slices"
)

// maxBody bounds the size of a form in bytes.
const maxBody = 64 << 10

// contentPolicy allows a page its own styles and scripts, and nothing from elsewhere.
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// guarded wraps all handlers: it sets security headers, rejects cross-site requests, bounds the size of bodies and the
// time of responses, and recovers from panics.
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
		// Otherwise a site could read a page that listens on the loopback address only, with a host name that resolves
		// to it.
		if len(s.hosts) > 0 && !slices.Contains(s.hosts, r.Host) {
			http.Error(w, "This name is not one of this page's.", http.StatusMisdirectedRequest)
			return
		}
		// A client that does not read would keep its response in memory. Streams bound each write instead.
		_ = http.NewResponseController(w).SetWriteDeadline(s.clock.Now().Add(answerTimeout)) // supported by the server
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		defer s.recovered(w, r)
		next.ServeHTTP(w, r)
	})
}

// recovered turns a panic of a page into an error response.
func (s *Server) recovered(w http.ResponseWriter, r *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	if cause == http.ErrAbortHandler { //nolint:errorlint // net/http compares it by identity as well.
		panic(cause)
	}
	s.log.Error(nil, "Serving a page panicked", "path", r.URL.Path, "cause", cause)
	http.Error(w, "This page failed; the hub's log says why.", http.StatusInternalServerError)
}
