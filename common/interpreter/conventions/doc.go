// Package conventions says how an object fares whose kind has no rule, by what the
// controllers of most kinds agree on in its status. These are the conventions that
// kstatus reads, which Flux, kpt and Helm wait by. The few lines that this takes are our
// own: the module of kstatus brings kubectl and kustomize along.
//
// This is no layer of the interpreter: a layer that answers for every kind would make Has
// say that there is a rule for every kind, and application failover acts by rules only.
// Who wants an answer in any case asks Has first, and comes here if it says no.
package conventions
