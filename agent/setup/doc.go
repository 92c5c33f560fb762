// Package setup puts the agent together. It is the only package that knows every stage:
//
//	hub: Works ──> execution ──> objects of the member
//	                   │ in memory         │ watch, limited to managed objects
//	                   └──> status <───────┘
//	                          └──> hub: status of Works
//	member: readyz, version, discovery, nodes, pods ──> clusterstatus ──> hub: Cluster, Lease
//
//	spec.agent of the Cluster ──> upgrade ──> the guard of the agent's Deployment, by way of clusterstatus
//
//	Works seen ──> journal (disk) ──> execution, at a start without the hub
//
// The manager's cache and clients are the hub's; the member's clients and caches are separate.
package setup
