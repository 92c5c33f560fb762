package auth

import "net/http"

// CookieName returns the name of the session cookie. With its prefix, browsers accept it over TLS only, and only for this host.
func CookieName(secure bool) string {
	if secure {
		return "__Host-fairlead"
	}
	return "fairlead"
}

// setCookie sets the cookie to a secret; an empty secret removes it.
func (s *SignIn) setCookie(w http.ResponseWriter, secret string) {
	age := 0
	if secret == "" {
		age = -1
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Without TLS it listens on the loopback address only, where some browsers accept no Secure cookie.
		Name: CookieName(s.Secure), Value: secret, Path: "/", MaxAge: age,
		HttpOnly: true, Secure: s.Secure, SameSite: http.SameSiteStrictMode,
	})
}

// secretOf returns the secret in the cookie of a request.
func (s *SignIn) secretOf(r *http.Request) string {
	cookie, err := r.Cookie(CookieName(s.Secure))
	if err != nil {
		return ""
	}
	return cookie.Value
}
