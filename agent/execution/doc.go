// Package execution applies the Works of a member and keeps the member that way.
//
// Reads: Works in the execution namespace on the hub, or at a start without the hub those
// of the journal; the objects of the member that
// their manifests name.
// Writes: those objects (server-side apply, deletion); the execution finalizer on Works.
// Owns: on objects of the member, the fields that the manifests set; on Works, the
// finalizer.
// Invariant: an object of the member is changed only once it is known what of it belongs to
// the member; an object of the member is deleted only for a Work that carries a deletion
// timestamp and the hub's intent, or to be made anew for a template that asks for that, and
// only if it bears the marks of that Work; what is absent deletes nothing, and what others
// have in a Namespace or of a CustomResourceDefinition keeps it.
// Next: package status tells the hub.
package execution
