// Package connect keeps a line to the hub open: a separate connection over which the hub sends requests to the agent.
//
//	Reads:     the hub's answer to the request that opens a line, and what the hub sends over the line.
//	Writes:    nothing; requests of operators are handed to package access.
//	Owns:      the member's line.
//	Invariant: the agent answers only requests that arrive over the line, and serves none before the hub agreed to the
//	           line with status 101. A line ends with the certificate that opened it.
//	Next:      package access for requests of operators; package presence, which renews the lease rarely while the hub
//	           takes the line as the heartbeat.
package connect
