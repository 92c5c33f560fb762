// Package issuer is a client of an OpenID Connect issuer at which people sign in to the dashboard: the authorization
// code flow with PKCE, the renewal of ID tokens, and signing out.
//
//	Reads:     the issuer's discovery document, its keys and its token endpoint.
//	Writes:    nothing.
//	Owns:      the result of the discovery, in memory only.
//	Invariant: an ID token is valid only if the issuer signed it for this client and it contains the nonce of
//	           the attempt; access tokens are dropped. This package does not decide who a user is on the hub:
//	           the hub's API does, from the ID token.
//	Next:      hub/people/auth binds attempts to browsers, and opens sessions.
package issuer
