// Package listener has an API server listen at two addresses: at a private one, for what runs beside it on its machine, from the first
// moment, and at the public one when the hub can use those who come.
//
// After a restart all agents of a hub come back at once. As long as the hub has not started they are of no use to anybody, and what
// they ask for keeps it from starting: among thousands the API server is so busy with requests that run out of time, and are made
// again, that the hub's own do as well. A port at which nobody listens costs nothing: agents are refused by the kernel, as they were
// while there was no API server, and come again.
//
// When they may come, they do so at once, and faster than they can be served. The queue of the public address greets a few at a time.
package listener
