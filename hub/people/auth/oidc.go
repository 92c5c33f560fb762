package auth

import (
	"errors"
	"net/http"
	"net/url"

	"fairlead.dev/hub/people/issuer"
)

// Paths of signing in at the issuer.
const (
	beginPath = "/signin/oidc"
	// CallbackPath is the path that the issuer sends browsers back to.
	CallbackPath = "/signin/oidc/callback"
)

// NextPage is a page with a message that redirects by itself.
type NextPage struct {
	Title, Text string
	// To is the target, and Link the text of the link to it.
	To, Link string
}

// begin redirects a browser to the issuer. It is reached by a link and not by a form, since the page's policy keeps forms on this site.
func (s *SignIn) begin(w http.ResponseWriter, r *http.Request) {
	back, err := s.redirectURL(r)
	if err != nil {
		s.refuseSignIn(w, r, err)
		return
	}
	a, address, err := s.Issuer.Begin(r.Context(), back)
	if err == nil {
		err = s.keepAttempt(w, r, attempt{Attempt: a, To: s.page(r, "").To})
	}
	if err != nil {
		s.refuseSignIn(w, r, err)
		return
	}
	http.Redirect(w, r, address, http.StatusSeeOther)
}

// callback signs in a person whom the issuer sends back.
func (s *SignIn) callback(w http.ResponseWriter, r *http.Request) {
	if !s.callbacks.allow(addressOf(r)) {
		s.tooMany(w, r)
		return
	}
	came := r.URL.Query()
	a, ok := s.takeAttempt(w, r, came.Get("state"))
	if !ok {
		s.refuseSignIn(w, r, refused("This sign-in was not begun in this browser, was used already, or took longer than %.0f minutes. Begin again%s.",
			attemptLife.Minutes(), s.startingPoint()))
		return
	}
	var u *User
	tokens, err := s.Issuer.Finish(r.Context(), a.Attempt, came)
	if err == nil {
		u, err = s.authenticator.ByIssuer(r.Context(), s.Issuer, tokens)
	}
	if err != nil {
		r.Form = url.Values{"to": {a.To}} // for the next try
		s.refuseSignIn(w, r, err)
		return
	}
	s.open(w, r, u)
	// The browser comes from another site, and a plain redirect would not carry the session's SameSite cookie.
	s.ShowNextPage(w, NextPage{Title: "Signed in", Text: "You are signed in as " + u.Name + ".", To: a.To, Link: "Go on"})
}

// startingPoint names, for a message, the address where signing in has to begin, if this may be another one.
func (s *SignIn) startingPoint() string {
	if s.RedirectURL == "" {
		return ""
	}
	return " at " + originOf(s.RedirectURL) + "/"
}

// refuseSignIn explains why somebody cannot sign in at the issuer.
func (s *SignIn) refuseSignIn(w http.ResponseWriter, r *http.Request, err error) {
	var no refusedError
	var theirs issuer.RefusedError
	var away issuer.UnavailableError
	var code int
	var message string
	switch {
	case errors.As(err, &no):
		code, message = http.StatusForbidden, no.why
	case errors.As(err, &theirs):
		code, message = http.StatusForbidden, "The sign-in at "+s.Issuer.Host()+" is not valid: "+theirs.Error()+"."
	case errors.As(err, &away):
		code, message = http.StatusServiceUnavailable, "The issuer "+away.Host+" gives no valid answer; see the hub's log. Try again in a moment, or sign in with a token or a certificate."
	default:
		code, message = http.StatusBadGateway, "The hub could not finish this sign-in; see its log. Try again in a moment."
	}
	if code == http.StatusForbidden {
		s.Log.Info("Refusing a sign-in", "address", addressOf(r), "reason", message)
	} else {
		s.Log.Error(err, "Signing in at the issuer failed")
	}
	s.Show(w, s.page(r, message), code)
}

// redirectURL returns the URL that the issuer sends the browser back to: that of the flag, or one with the host of the request, which must
// be in the dashboard's certificate.
func (s *SignIn) redirectURL(r *http.Request) (string, error) {
	if s.RedirectURL != "" {
		return s.RedirectURL, nil
	}
	u, err := url.Parse("https://" + r.Host)
	if err != nil || u.Host != r.Host || u.Hostname() == "" {
		return "", refused("This request names no host.")
	}
	if err := s.Serves(u.Hostname()); err != nil {
		return "", refused("The dashboard's certificate is not for %s, so the issuer is not told to send you there. Whoever runs the hub can name the address with --dashboard-oidc-redirect-url.", u.Hostname())
	}
	u.Path = CallbackPath
	return u.String(), nil
}

// originOf returns the scheme and host of a URL.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// signOutURL returns the URL for signing out at the issuer, too; empty if it has none.
func (s *SignIn) signOutURL(r *http.Request, u *User) string {
	if u.idToken == nil {
		return ""
	}
	back, err := s.redirectURL(r)
	if err != nil {
		return ""
	}
	return s.Issuer.SignOutURL(r.Context(), u.idToken.last(), originOf(back)+"/signin")
}
