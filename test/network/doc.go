// Package network runs the container images as they are deployed: a hub, and members that it cannot dial. Each member
// is on its own network, which has no way in, and no way out but a relay that dials the hub's port.
//
//	network hub:     hub  <-- relay 1, relay 2, relay 3
//	network edge-N:  member, agent --> relay N, which is known there as "hub"
//
// `make test-network` builds the images and runs it; it needs a Docker engine, but no registry. Names are random, no
// port is published, and everything is removed at the end.
package network
