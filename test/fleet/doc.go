// Package fleet starts a hub and its members from the built programs, each a process of
// its own, and joins the members by token as an operator would. The demo, the benchmark
// and the end-to-end tests are made of it.
//
// A directory holds all there is of a fleet:
//
//	DIR/hub.kubeconfig       administrator of the hub, context hub
//	DIR/edge-N.kubeconfig    administrator of a member, context edge-N
//	DIR/hub, DIR/edge-N      data of the hub, of a member
//	DIR/agent-edge-N         identity of an agent
//	DIR/logs                 one log per process
//	DIR/run                  one pid file per process
//
// Up starts what is missing and leaves alone what runs, so it repairs a fleet of which
// processes were killed, or all of them by a reboot.
package fleet
