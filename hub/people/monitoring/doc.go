// Package monitoring tells Prometheus how the hub and its fleet fare: applications and
// clusters by state, since when agents are silent, what clusters refuse and why, and how long
// a change takes until all clusters have applied it.
//
// What has a state is counted when it is asked for, from the hub's cache; what takes time is
// measured as it happens. Only the hub that was elected tells anything, so that a sum over
// several hubs is right.
//
//	Reads:     Clusters, bindings, Works, policies and the agents' leases, from the cache.
//	Writes:    nothing.
//	Owns:      the metrics fairlead_hub_… of this package.
//	Invariant: labels are closed sets or names of clusters: never names of objects, or texts.
//	Next:      manifests/monitoring has dashboards and alerts for it.
package monitoring
