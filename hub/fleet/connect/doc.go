// Package connect serves the API of lines, connect.fairlead.dev: agents open their lines to it, and the requests of
// operators go through these to members that nobody can dial.
//
//	Reads:     requests that an API server has authenticated, authorized and forwarded; Clusters; access reviews.
//	Writes:    the APIService of the group, and the Service and EndpointSlice behind it.
//	Owns:      the open lines; they are in memory and nowhere else.
//	Invariant: a request goes into the line of the cluster that its path names, with the name of who sent it, or nowhere.
//	           Nothing is sent twice.
//	Next:      the agent, which asks the API of its member.
//
// Each replica of the hub holds lines of its own. What they know of each other's is behind Peers.
package connect
