// Package catchup says which clusters that were silent may catch up now: so many at a time, over
// all rollouts of a strategy, in the order in which they returned. It is pure.
//
// A cluster that catches up with several applications takes one slot. Who has a slot keeps it until
// no application of it is on its way any more.
package catchup
