// Package terminal carries a terminal between a browser and a command, over a WebSocket.
//
//	Reads:     what a person types.
//	Writes:    nothing but what the command says.
//	Owns:      nothing.
//	Invariant: only pages of the same origin open one. It ends with the session of the person, and when either end is gone
//	           or takes nothing for long; neither end makes the other hold more than a few messages.
//	Next:      hub/people/dashboard.
package terminal
