// Command bench measures what it costs to bring templates to members and their status
// back, beside the floor: the same writes by as many writers with no controllers at all.
//
// It needs kubeconfigs of a hub and its members and nothing else of Fairlead, so it
// measures any system that speaks this API:
//
//	bench --hub hub.kubeconfig --members edge-1=edge-1.kubeconfig,edge-2=edge-2.kubeconfig --process hub=4711
//
// Without them it starts a fleet of its own from the built programs, and stops it again.
//
// Latencies are seen through watches. What the bench itself uses of the machine is in the
// result, because on a small one it matters.
package main
