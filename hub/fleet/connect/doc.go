// Package connect serves the API of lines, connect.fairlead.dev. Agents open their lines to it, and it passes the
// requests of operators through these lines to members that cannot be dialled.
//
//	Reads:     requests that an API server has authenticated, authorized and forwarded; Clusters; access reviews.
//	Writes:    the APIService of the group, and the Service and EndpointSlice behind it.
//	Owns:      the open lines, in memory only.
//	Invariant: a request goes to the cluster that its path names, in the name of its caller, or nowhere.
//	           Nothing is sent twice.
//	Next:      the agent, which calls the API of its member.
//
// Each replica of the hub holds its own lines. Peers gives access to the lines of the other replicas.
package connect
