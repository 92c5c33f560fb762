package auth

import (
	"errors"
	"net/http"
	"net/url"

	"fairlead.dev/hub/people/issuer"
)

// Paths of the dashboard for people of the issuer.
const (
	beginPath = "/signin/oidc"
	// CallbackPath is where the issuer sends browsers back to.
	CallbackPath = "/signin/oidc/callback"
)

// NextPage is a page that says something and leads on by itself.
type NextPage struct {
	Title, Text string
	// To is where it leads, Link what the link to there says.
	To, Link string
}

// begin sends a browser to the issuer. It is a link and no form: the policy of the page lets forms lead nowhere else.
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

// callback lets in whom the issuer sends back.
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
	// The browser comes from another site, and would not show the session's cookie if it were only sent on.
	s.ShowNextPage(w, NextPage{Title: "Signed in", Text: "You are signed in as " + u.Name + ".", To: a.To, Link: "Go on"})
}

// startingPoint says where to begin if that is another address than this may be.
func (s *SignIn) startingPoint() string {
	if s.RedirectURL == "" {
		return ""
	}
	return " at " + originOf(s.RedirectURL) + "/"
}

// refuseSignIn says why somebody cannot sign in at the issuer.
func (s *SignIn) refuseSignIn(w http.ResponseWriter, r *http.Request, err error) {
	var no refusedError
	var theirs issuer.RefusedError
	var away issuer.UnavailableError
	var code int
	var said string
	switch {
	case errors.As(err, &no):
		code, said = http.StatusForbidden, no.why
	case errors.As(err, &theirs):
		code, said = http.StatusForbidden, "The sign-in at "+s.Issuer.Host()+" does not count: "+theirs.Error()+"."
	case errors.As(err, &away):
		code, said = http.StatusServiceUnavailable, "The issuer "+away.Host+" does not answer as it should; the hub's log says more. Try again in a moment, or sign in otherwise: tokens and certificates go on."
	default:
		code, said = http.StatusBadGateway, "The hub could not finish this sign-in; its log says more. Try again in a moment."
	}
	if code == http.StatusForbidden {
		s.Log.Info("Refusing a sign-in", "address", addressOf(r), "reason", said)
	} else {
		s.Log.Error(err, "Signing in at the issuer failed")
	}
	s.Show(w, s.page(r, said), code)
}

// redirectURL is where the issuer is to send the browser back to: the flag's, or the name by which the browser called,
// which must be one that the dashboard's certificate is for.
func (s *SignIn) redirectURL(r *http.Request) (string, error) {
	if s.RedirectURL != "" {
		return s.RedirectURL, nil
	}
	u, err := url.Parse("https://" + r.Host)
	if err != nil || u.Host != r.Host || u.Hostname() == "" {
		return "", refused("This request is for no host.")
	}
	if err := s.Serves(u.Hostname()); err != nil {
		return "", refused("The dashboard's certificate is not for %s, so the issuer is not told to send you there. Whoever runs the hub can name the address with --dashboard-oidc-redirect-url.", u.Hostname())
	}
	u.Path = CallbackPath
	return u.String(), nil
}

// originOf is the address of a site.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// signOutURL is where somebody who signs out here does so at the issuer; empty if there is no such place.
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
