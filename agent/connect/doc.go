// Package connect keeps a line to the hub open: a connection of its own, over which the hub sends requests to the agent.
//
//	Reads:     the answer of the hub to the request that opens a line, and what it sends over the line.
//	Writes:    nothing; requests of operators are given to package access.
//	Owns:      the line of the member.
//	Invariant: nothing but what the hub asks over the line is answered, and nothing was sent before the hub agreed to the
//	           line with 101. A line ends with the certificate that opened it.
//	Next:      package access for requests of operators; package presence, which renews the lease rarely while the line is
//	           the sign of life.
package connect
