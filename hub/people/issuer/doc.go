// Package issuer speaks with an OpenID Connect issuer, at which people of the dashboard sign in: the authorization
// code flow with PKCE, the renewal of ID tokens, and signing out.
//
//	Reads:     the issuer's discovery document, its keys and its token endpoint.
//	Writes:    nothing.
//	Owns:      what was discovered of the issuer, in memory only.
//	Invariant: an ID token counts only if the issuer signed it for this client and it holds the nonce of the attempt;
//	           access tokens are dropped. Who somebody is on the hub is not decided here: the hub's API gets the ID token.
//	Next:      hub/people/auth binds attempts to browsers and opens sessions.
package issuer
