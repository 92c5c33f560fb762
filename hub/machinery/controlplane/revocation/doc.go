// Package revocation ends open watches of users whose rights were revoked: an API server authorizes a watch when it
// starts, and never again.
//
// When a subject is removed from a role binding, or the binding is deleted, all open watches of that subject end. A
// client that still has the right opens a new one.
package revocation
