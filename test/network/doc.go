// Package network runs the images as they are meant to run: a hub, and members that nobody
// can dial. Each member is on a network of its own, from which there is no way out but a
// relay that dials the hub's port, and no way in at all.
//
//	network hub:     hub  <-- relay 1, relay 2, relay 3
//	network edge-N:  member, agent --> relay N, which is known there as "hub"
//
// `make test-network` builds the images and runs it; it needs a Docker engine, and no
// registry. Names are random, no port is published, and all of it is removed at the end.
package network
