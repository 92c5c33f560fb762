// Package fleet starts a hub and its members from the built programs, each as its own process, and joins the members by
// token as an operator would. The demo, the benchmark and the end-to-end tests are built on it.
//
// All files of a fleet are in one directory:
//
//	DIR/hub.kubeconfig       administrator of the hub, context hub
//	DIR/edge-N.kubeconfig    administrator of a member, context edge-N
//	DIR/hub, DIR/edge-N      data of the hub, of a member
//	DIR/agent-edge-N         identity of an agent
//	DIR/logs                 one log per process
//	DIR/run                  one pid file per process
//
// Up starts only the processes that do not run, so it repairs a fleet after some were killed, or all of them by a
// reboot.
package fleet
