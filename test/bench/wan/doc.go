// Command wan measures an agent on a ship's line, 600 ms there and back, 128 kbit/s, every fiftieth packet lost: a join,
// a thousand Works after the line was away, single changes and their statuses, idling, and large Works after it was away
// again; seconds and bytes of each beside the bytes of the objects themselves. These are those of the Works, by which the
// budget goes, and of the templates of which they are made, which are a fifth of a small Work.
//
// The line is a relay in this process between a real agent and a real hub. It delays and paces what it relays as one
// such line would that all connections share; a lost packet holds up its connection until it was sent again, and is
// sent twice. It leaves out what only TCP itself knows: slow start, and its own acknowledgements.
//
// The hub is restarted while the line is away, so that nobody remembers where the agent's watches were, as after an hour.
package main
