// Package execution applies the Works of a member and keeps the member's objects that way.
//
// Reads: Works in the execution namespace on the hub or, if the agent starts without the hub, in the journal; the
// objects of the member that their manifests describe.
// Writes: those objects (server-side apply, deletion); the execution finalizer on Works.
// Owns: on objects of the member, the fields that the manifests set; on Works, the finalizer.
// Invariant: an object of the member is changed only once it is known which of its fields belong to the member. An
// object of the member is deleted only for a Work that carries a deletion timestamp and the hub's intent, or to be
// created again for a template that asks for that, and only if it has the marks of that Work. Nothing is deleted
// because something is absent, and a Namespace or a CustomResourceDefinition with objects of others in it stays.
// Next: package status reports to the hub.
package execution
