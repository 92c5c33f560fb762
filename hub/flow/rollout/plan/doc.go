// Package plan divides the targets of an application into the waves of a rollout. It is pure.
//
// Which clusters a wave has, and in which order they are taken, is decided once, when a revision is
// made, and kept with it: so that a label that changes or a target that leaves in the middle of a
// wave moves nobody from one wave to another. Targets that come later are placed one by one.
package plan
