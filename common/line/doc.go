// Package line carries HTTP requests from the hub to an agent over a connection that the agent opened, since nobody can
// dial an agent.
//
// It is HTTP/2 with swapped roles: the end that was dialled, the hub, sends the requests (Client), and the end that
// dialled, the agent, answers them (Serve). Each request is a stream with a window of its own, so that a reader that
// stalls stops its own stream only. Nothing is ever sent a second time.
//
// HTTP/2 cannot upgrade. A request that does is sent as a POST with its method and protocol beside, and is answered with
// 200 and the status 101 beside; from there on both bodies are the bytes of the upgraded connection, in chunks that say how
// long they are (see chunks.go), since the end of a body could not tell a half-close from the end of all.
//
// Both ends trust the other with nothing but the line itself: what the other sends is bounded, and what is no HTTP/2 ends
// the line.
package line
