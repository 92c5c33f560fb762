// Package manifest says what an agent consists of that runs in its member: a Deployment and
// the rights that it has. It only thinks.
package manifest
