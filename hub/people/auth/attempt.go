package auth

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"fairlead.dev/hub/people/issuer"
)

// The state of signing in at the issuer is kept by the browser, in one cookie for each attempt. So any hub at this address finds it when
// the issuer sends the browser back, and nobody can complete the attempt of another browser. The cookie is SameSite=Lax, since the browser
// comes back from the issuer's site.
const (
	attemptLife = 10 * time.Minute
	// maxAttempts bounds the cookies of attempts in a browser.
	maxAttempts = 5
	// maxAttemptCookie is a size in bytes that every browser accepts.
	maxAttemptCookie = 3500
	// attemptNameLength is how many characters of the state are in the name of the cookie.
	attemptNameLength = 8
)

// attempt is the content of the cookie that a browser keeps while somebody signs in at the issuer.
type attempt struct {
	issuer.Attempt

	// To is the path that the person wanted to see.
	To string
}

// attemptPrefix returns the prefix of the names of such cookies.
func attemptPrefix(secure bool) string { return CookieName(secure) + "-login-" }

// attemptName returns the name of the cookie for the attempt with a state.
func (s *SignIn) attemptName(state string) string {
	return attemptPrefix(s.Secure) + state[:min(len(state), attemptNameLength)]
}

// keepAttempt sets the cookie of an attempt.
func (s *SignIn) keepAttempt(w http.ResponseWriter, r *http.Request, a attempt) error {
	var others []string
	for _, cookie := range r.Cookies() {
		if strings.HasPrefix(cookie.Name, attemptPrefix(s.Secure)) {
			others = append(others, cookie.Name)
		}
	}
	if len(others) >= maxAttempts {
		for _, name := range others {
			s.setAttempt(w, name, "")
		}
	}
	value, err := encodeAttempt(a)
	if err == nil && len(value) > maxAttemptCookie {
		a.To = "/"
		value, err = encodeAttempt(a)
	}
	if err != nil {
		return err
	}
	s.setAttempt(w, s.attemptName(a.State), value)
	return nil
}

// takeAttempt returns the attempt with a state and removes its cookie, so that it works once.
func (s *SignIn) takeAttempt(w http.ResponseWriter, r *http.Request, state string) (attempt, bool) {
	name := s.attemptName(state)
	cookie, err := r.Cookie(name)
	if err != nil || state == "" {
		return attempt{}, false
	}
	s.setAttempt(w, name, "")
	a, ok := decodeAttempt(cookie.Value)
	return a, ok && sameSecret(a.State, state)
}

func (s *SignIn) setAttempt(w http.ResponseWriter, name, value string) {
	age := int(attemptLife.Seconds())
	if value == "" {
		age = -1
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // It is Secure wherever an issuer is configured.
		Name: name, Value: value, Path: "/", MaxAge: age, HttpOnly: true, Secure: s.Secure, SameSite: http.SameSiteLaxMode,
	})
}

func encodeAttempt(a attempt) (string, error) {
	raw, err := json.Marshal(a)
	return base64.RawURLEncoding.EncodeToString(raw), err
}

func decodeAttempt(value string) (attempt, bool) {
	var a attempt
	raw, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil || json.Unmarshal(raw, &a) != nil {
		return attempt{}, false
	}
	if !isReturnPath(a.To) {
		a.To = "/"
	}
	return a, true
}
