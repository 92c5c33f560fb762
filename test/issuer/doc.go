// Package issuer is a provider of OpenID Connect for tests, over TLS: discovery, keys, the authorization code flow with
// PKCE, refresh tokens that are good once, and signing out. It is strict where providers are, and lies when told to.
package issuer
