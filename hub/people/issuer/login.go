package issuer

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net/url"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Attempt is one try to sign in. The browser keeps it until the issuer sends the browser back.
type Attempt struct {
	// State comes back in the URL and Nonce in the ID token. Verifier proves to the issuer that the code is redeemed by the client that
	// began the attempt (PKCE).
	State, Nonce, Verifier string
	// RedirectURL is the URL that the issuer sends the browser back to.
	RedirectURL string
}

// Tokens are the tokens that the issuer gives out when a person signs in.
type Tokens struct {
	// ID is the ID token, Expiry its end, and Subject the person that it names.
	ID      string
	Expiry  time.Time
	Subject string
	// Refresh is the refresh token; empty if the issuer gives none.
	Refresh string
	// nonce is the nonce of the attempt.
	nonce string
}

// Begin returns a new attempt, and the issuer's URL to send the browser to.
func (i *Issuer) Begin(ctx context.Context, redirectURL string) (Attempt, string, error) {
	e, err := i.discover(ctx)
	if err != nil {
		return Attempt{}, "", err
	}
	a := Attempt{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), RedirectURL: redirectURL}
	config, err := i.config(e, redirectURL)
	if err != nil {
		return Attempt{}, "", err
	}
	return a, config.AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), nil
}

// Finish redeems the code with which the issuer sent the browser back.
func (i *Issuer) Finish(ctx context.Context, a Attempt, came url.Values) (Tokens, error) {
	if !same(came.Get("state"), a.State) {
		return Tokens{}, refused("the answer is to another attempt to sign in")
	}
	if iss := came.Get("iss"); iss != "" && iss != i.URL {
		return Tokens{}, refused("the answer is from another issuer, %q", iss)
	}
	if code := came.Get("error"); code != "" {
		return Tokens{}, refused("%s", reason(code, came.Get("error_description")))
	}
	if came.Get("code") == "" {
		return Tokens{}, refused("the answer holds no code")
	}
	e, err := i.discover(ctx)
	if err != nil {
		return Tokens{}, err
	}
	config, err := i.config(e, a.RedirectURL)
	if err != nil {
		return Tokens{}, err
	}
	ctx = oidc.ClientContext(ctx, i.http)
	token, err := config.Exchange(ctx, came.Get("code"), oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return Tokens{}, i.explain("redeeming the code", err)
	}
	raw, verified, err := i.idTokenOf(ctx, e, token)
	if err != nil {
		return Tokens{}, err
	}
	if !same(verified.Nonce, a.Nonce) {
		return Tokens{}, refused("its ID token is of another attempt to sign in")
	}
	return Tokens{ID: raw, Expiry: verified.Expiry, Subject: verified.Subject, Refresh: token.RefreshToken, nonce: a.Nonce}, nil
}

// Renew gets a new ID token for the same person. It returns a RefusedError if the issuer refuses that.
func (i *Issuer) Renew(ctx context.Context, old Tokens) (Tokens, error) {
	e, err := i.discover(ctx)
	if err != nil {
		return Tokens{}, err
	}
	config, err := i.config(e, "")
	if err != nil {
		return Tokens{}, err
	}
	ctx = oidc.ClientContext(ctx, i.http)
	token, err := config.TokenSource(ctx, &oauth2.Token{RefreshToken: old.Refresh}).Token()
	if err != nil {
		return Tokens{}, i.explain("renewing the ID token", err)
	}
	raw, verified, err := i.idTokenOf(ctx, e, token)
	if err != nil {
		return Tokens{}, err
	}
	if verified.Subject != old.Subject || verified.Nonce != "" && !same(verified.Nonce, old.nonce) {
		return Tokens{}, refused("its new ID token is that of somebody else")
	}
	return Tokens{ID: raw, Expiry: verified.Expiry, Subject: verified.Subject, Refresh: token.RefreshToken, nonce: old.nonce}, nil
}

// maxHint bounds the length of the ID token in the sign-out URL, since many servers refuse longer URLs. Without the token, issuers ask the
// person for confirmation.
const maxHint = 4 << 10

// SignOutURL returns the issuer's URL for signing out, which then redirects to another; empty if the issuer has none.
func (i *Issuer) SignOutURL(ctx context.Context, t Tokens, then string) string {
	e, err := i.discover(ctx)
	if err != nil || e.endSession == "" {
		return ""
	}
	u, err := url.Parse(e.endSession)
	if err != nil {
		return ""
	}
	query := u.Query()
	if len(t.ID) <= maxHint {
		query.Set("id_token_hint", t.ID)
	}
	query.Set("client_id", i.ClientID)
	query.Set("post_logout_redirect_uri", then)
	u.RawQuery = query.Encode()
	return u.String()
}

func (i *Issuer) config(e *endpoints, redirectURL string) (*oauth2.Config, error) {
	secret, err := i.secret()
	if err != nil {
		return nil, err
	}
	scopes := slices.DeleteFunc(slices.Clone(i.Scopes), func(scope string) bool { return scope == oidc.ScopeOpenID })
	return &oauth2.Config{
		ClientID: i.ClientID, ClientSecret: secret, Endpoint: e.oauth, RedirectURL: redirectURL,
		Scopes: append([]string{oidc.ScopeOpenID}, scopes...),
	}, nil
}

// maxToken bounds the length of each token in bytes, since a thousand sessions keep theirs in memory and send them with each request.
const maxToken = 16 << 10

// idTokenOf returns the verified ID token in an answer of the token endpoint.
func (i *Issuer) idTokenOf(ctx context.Context, e *endpoints, answer *oauth2.Token) (string, *oidc.IDToken, error) {
	raw, _ := answer.Extra("id_token").(string)
	switch {
	case raw == "":
		return "", nil, refused("it gives no ID token")
	case len(raw) > maxToken:
		return "", nil, refused("its ID token has %d bytes, and may have %d: have the issuer put fewer groups and claims into it", len(raw), maxToken)
	case len(answer.RefreshToken) > maxToken:
		return "", nil, refused("its refresh token has %d bytes, and may have %d", len(answer.RefreshToken), maxToken)
	}
	verified, err := i.verify(ctx, e, raw)
	return raw, verified, err
}

// verify verifies the signature, audience and times of an ID token.
func (i *Issuer) verify(ctx context.Context, e *endpoints, raw string) (*oidc.IDToken, error) {
	keys := &watchedKeys{KeySet: e.keys}
	token, err := oidc.NewVerifier(i.URL, keys, &oidc.Config{ClientID: i.ClientID, SupportedSigningAlgs: e.algs, Now: i.Clock.Now}).Verify(ctx, raw)
	switch {
	case err == nil && token.Subject == "":
		return nil, refused("its ID token names no user")
	case err == nil:
		return token, nil
	case errors.Unwrap(keys.err) != nil: // go-oidc wraps why keys could not be had, and nothing else
		return nil, UnavailableError{Host: i.Host(), err: keys.err}
	default:
		return nil, refused("its ID token is not valid: %w", err)
	}
}

// watchedKeys remembers why the issuer's keys could not be read, which go-oidc does not return.
type watchedKeys struct {
	oidc.KeySet
	err error
}

// VerifySignature implements oidc.KeySet.
func (k *watchedKeys) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	payload, err := k.KeySet.VerifySignature(ctx, jwt)
	k.err = err
	return payload, err
}

// same compares two secrets in constant time.
func same(a, b string) bool {
	return a != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}
