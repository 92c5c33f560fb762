// Package status reports to the hub how each Work was applied and how its objects fare.
//
// Reads: what package execution passes in memory; why pods are not ready, as package clusterstatus saw it; Works on
// the hub, from the cache.
// Writes: the status of Works.
// Owns: the status of the member's Works except condition fairlead.dev/StatusLeftOut, which is the hub's: conditions
// Applied, Dispatching, fairlead.dev/StatusCut and fairlead.dev/NotWatched, manifestStatuses, drift (corrected
// changes), and which generation was reported when.
// Invariant: it is the only writer of these; nothing that the hub already has is written again, and changes within a
// moment are one write.
// Next: the hub aggregates the Works of a binding.
package status
