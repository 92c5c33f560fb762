// Package auth says who somebody is who shows the dashboard a credential, keeps their session,
// and says what they may see.
//
//	Reads:     who a credential is, and what its owner may do, from the hub's API.
//	Writes:    nothing.
//	Owns:      sessions, links to sign in and counts of tries, all in memory only.
//	           Of people of the issuer, their tokens; what an attempt to sign in there needs is kept by the browser.
//	Invariant: whatever is done for somebody is done with their own rights. The hub's own are
//	           used for nothing but to impersonate the owner of a certificate that TLS has
//	           verified, or, on this machine only, as those of the one who started it.
//	Next:      hub/people/dashboard shows pages to those who have signed in.
package auth
