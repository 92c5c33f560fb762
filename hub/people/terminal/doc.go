// Package terminal connects a terminal in a browser to a command, over a WebSocket.
//
//	Reads:     what a person types.
//	Writes:    only the output of the command.
//	Owns:      nothing.
//	Invariant: only pages of the same origin can open a terminal. It ends with the session of the person, and
//	           when either end is gone or stops reading; neither end makes the other buffer more than a few
//	           messages.
//	Next:      hub/people/dashboard.
package terminal
