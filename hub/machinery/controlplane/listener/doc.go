// Package listener makes an API server listen at two addresses: at a private one, for programs on the same machine,
// from the start, and at the public one once the hub is ready for clients.
//
// After a restart, all agents of a hub reconnect at once. They are of no use until the hub has started, and their
// requests keep it from starting: with thousands of them, the API server is so busy with requests that time out and are
// repeated that those of the hub time out as well. A port without a listener costs nothing: the kernel refuses the
// agents, as it did while there was no API server, and they try again later.
//
// Once they are admitted, they all come at once, faster than they can be served. The queue of the public address lets a
// few at a time do their handshake.
package listener
