// Package kube holds the few helpers with which every stage talks to an API server: the scheme, the constructor of
// controllers, reads that share the cache's objects, and edits that write only what changed. Events are in eventsink,
// watches of kinds that come and go in watchset, and fair queueing between tenants in fairqueue.
package kube
