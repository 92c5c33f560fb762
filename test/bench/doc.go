// Command bench measures the cost of propagating templates to members and their status back, next to a floor: the same
// writes by as many writers without any controllers.
//
// It needs only the kubeconfigs of a hub and its members, so it can measure any system that serves this API:
//
//	bench --hub hub.kubeconfig --members edge-1=edge-1.kubeconfig,edge-2=edge-2.kubeconfig --process hub=4711
//
// Without them it starts a fleet of its own from the built programs, and stops it at the end.
//
// Latencies are measured through watches. The result includes the resources that the bench itself uses, which matter on
// a small machine.
package main
