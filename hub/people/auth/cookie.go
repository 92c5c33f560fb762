package auth

import "net/http"

// CookieName names the cookie of a session. With the prefix, browsers take it over TLS only, and for this
// very host.
func CookieName(secure bool) string {
	if secure {
		return "__Host-fairlead"
	}
	return "fairlead"
}

// setCookie hands a secret to the browser; an empty one takes it back.
func (s *SignIn) setCookie(w http.ResponseWriter, secret string) {
	age := 0
	if secret == "" {
		age = -1
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Without TLS only the loopback address is listened on, where some browsers take no secure cookie.
		Name: CookieName(s.Secure), Value: secret, Path: "/", MaxAge: age,
		HttpOnly: true, Secure: s.Secure, SameSite: http.SameSiteStrictMode,
	})
}

// secretOf returns what the browser shows.
func (s *SignIn) secretOf(r *http.Request) string {
	cookie, err := r.Cookie(CookieName(s.Secure))
	if err != nil {
		return ""
	}
	return cookie.Value
}
