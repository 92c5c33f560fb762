// Package upkeep does with real programs what the operator of a hub does once in a while. It has a hub make backups by itself,
// kills it in the middle of one, loses it with all that it had, and makes it again from a sealed backup. And it exchanges the
// certificate authority of the hub, while agents stay connected, others join and one is away.
package upkeep
