// Package authenticator caches the authentication of client certificates for a few seconds.
//
// The Kubernetes API server verifies the chain of a client certificate for every request, not once per connection. With
// agents and hub all using certificates, that took a twelfth of the API server's CPU time while agents reconnected. A
// cached result is for exactly the same certificate; when an authority is no longer trusted, its cached results expire
// as quickly.
package authenticator
