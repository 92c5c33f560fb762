// Package status tells the author of a template what became of it.
//
// Reads: Works, bindings, Clusters (who is silent), the whole template of a kind whose status can be added up.
// Writes: of a binding status.aggregatedStatus, status.templateStatusOf and the conditions FullyApplied
// and Stale, and in the same patch what the scheduler has to say there of routine and the dependencies stage for the next start; the status
// of the template; condition fairlead.dev/StatusLeftOut of Works. Where templateStatusOf is all that changes,
// as after an upgrade, it is written slowly.
// Owns: all that it writes.
// Invariant: an item says what its cluster reported last and nothing else; the
// template's status is written before the binding's, so that a binding that is up to
// date has a template that is.
// Next: nobody; this is what users read.
package status
