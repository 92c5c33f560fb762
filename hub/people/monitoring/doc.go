// Package monitoring exports the state of the hub and its fleet to Prometheus: applications and clusters by state, the
// age of heartbeats, what clusters refuse and why, and how long a change takes until all clusters have applied it.
//
// States are collected from the hub's cache when Prometheus scrapes; durations are measured as changes happen. Only the
// leader exports them, so that sums over several hubs are correct.
//
//	Reads:     Clusters, bindings, Works, policies and the agents' leases, from the cache.
//	Writes:    nothing.
//	Owns:      the metrics fairlead_hub_… of this package.
//	Invariant: labels are closed sets or names of clusters, never names of objects or texts.
//	Next:      manifests/monitoring has dashboards and alerts for it.
package monitoring
