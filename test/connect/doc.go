// Package connect has everybody together in a fleet of processes: operators with kubectl, a hub, agents that keep lines
// open to it, members whose pods answer, proxies on the way, and those who try what they may not.
package connect
