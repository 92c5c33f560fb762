// Package join tests a join from end to end: the agent's registration against the hub's stages, on real API servers.
package join
