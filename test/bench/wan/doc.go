// Command wan measures an agent behind a ship's link: 600 ms round trip, 128 kbit/s, every fiftieth packet lost. It
// measures a join, a thousand Works after the link was down, single changes and their statuses, idling, and large Works
// after the link was down again, each in seconds and in bytes next to the size of the objects themselves. Sizes are
// given for the Works, which the budget refers to, and for the templates that they are made from, which are a fifth of
// a small Work.
//
// The link is a relay in this process between a real agent and a real hub. It delays and paces traffic as one link
// shared by all connections would; a lost packet blocks its connection until it is retransmitted, and counts twice. It
// does not model what only TCP knows: slow start and acknowledgements.
//
// The hub is restarted while the link is down, so that the agent's watches cannot resume where they were, as after an
// hour.
package main
