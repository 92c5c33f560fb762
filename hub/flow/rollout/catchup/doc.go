// Package catchup decides which clusters that were silent may catch up now: a limited number at a time over all rollouts of a strategy, in
// the order in which they returned. It is pure.
//
// A cluster that catches up with several applications takes one slot, and keeps it until it has caught up with all of them.
package catchup
