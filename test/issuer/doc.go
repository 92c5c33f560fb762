// Package issuer is an OpenID Connect provider for tests, over TLS: discovery, keys, the authorization code flow with
// PKCE, single-use refresh tokens, and signing out. It is as strict as real providers, and can be told to lie.
package issuer
