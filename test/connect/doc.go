// Package connect tests operators' access to members in a fleet of processes: operators with kubectl, a hub, agents
// that keep lines open to it, members whose pods answer, proxies in between, and attackers.
package connect
