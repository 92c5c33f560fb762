// Package status tells the hub what came of each Work and how its objects fare.
//
// Reads: what package execution hands over in memory; why pods are not ready, as package
// clusterstatus saw it; Works on the hub, from the cache.
// Writes: the status of Works.
// Owns: the status of the member's Works but for condition fairlead.dev/StatusLeftOut, which is the hub's:
// conditions Applied, Dispatching, fairlead.dev/StatusCut and fairlead.dev/NotWatched, manifestStatuses, what was put back (drift), and
// which generation was reported when.
// Invariant: it is the only writer of these; what the hub has already is not written
// again, and what changes within a moment is one write.
// Next: the hub sums up the Works of a binding.
package status
