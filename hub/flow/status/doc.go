// Package status aggregates what the clusters report of a template into the status of its binding and of the template itself.
//
// Reads: Works, bindings, Clusters (which are silent), the whole template of a kind whose status can be aggregated.
// Writes: in the status of a binding aggregatedStatus, templateStatusOf and the conditions FullyApplied and Stale, and in the same
// patch the deferred status of the scheduler and of the dependencies stage; the status of the template; the condition
// fairlead.dev/StatusLeftOut of Works. Writes that change templateStatusOf alone, as after an upgrade of the hub, are paced.
// Owns: all that it writes, but for the deferred status of other stages.
// Invariant: an item holds what its cluster reported last and nothing else; the template's status is written before the binding's, so
// the template of an up-to-date binding is up to date.
// Next: nobody; users read the result.
package status
