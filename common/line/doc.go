// Package line carries HTTP requests from the hub to an agent over a connection that the agent opened, since agents
// cannot be dialled.
//
// It is HTTP/2 with swapped roles: the dialled end, the hub, sends the requests (Client), and the dialling end, the
// agent, answers them (Serve). Each request is a stream with its own flow-control window, so that a stalled reader
// blocks only its own stream. Nothing is ever sent a second time.
//
// HTTP/2 cannot upgrade. An upgrade request is sent as a POST with its method and protocol in headers, and answered
// with 200 and the status 101 in a header; from then on both bodies carry the bytes of the upgraded connection, in
// length-prefixed chunks (see chunks.go), since the end of a body could not distinguish a half-close from the end of
// the stream.
//
// Neither end trusts the other beyond the line itself: everything the other end sends is bounded, and anything that
// is not HTTP/2 ends the line.
package line
