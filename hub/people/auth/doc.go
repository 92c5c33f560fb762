// Package auth authenticates the users of the dashboard, keeps their sessions, and decides what they may see.
//
//	Reads:     whose a credential is, and what its owner may do, from the hub's API.
//	Writes:    nothing.
//	Owns:      sessions, sign-in links and counts of attempts, all in memory only. For people who sign in at
//	           the issuer also their tokens; the state of such an attempt is kept in the browser.
//	Invariant: everything is done with the user's own rights. The hub's rights only serve to impersonate the
//	           owner of a certificate that TLS has verified, or, on this machine only, as those of the
//	           person who started the program.
//	Next:      hub/people/dashboard shows pages to users who have signed in.
package auth
