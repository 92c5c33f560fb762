// Package authenticator remembers for moments whose certificate it was by which a request came.
//
// An API server of Kubernetes verifies the chain of a client's certificate for each request, not once for a connection. Where all clients
// have certificates, as agents and the hub do, that was a twelfth of what the API server calculated while agents came back. What is
// remembered here is what was found out a moment ago, of that very certificate; an authority that is no longer trusted is forgotten as soon.
package authenticator
