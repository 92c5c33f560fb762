// Package admit decides what a staged rollout does next: which clusters are sent the newest
// revision, when a wave begins and has passed, when it stops, and who catches up. It is pure:
// Decide takes what is known and returns the status that is to be written, and why.
//
// What a cluster is to have follows from the status alone (package revision). So nothing is sent
// before the status is written, and whoever dies in between decides anew from the one before.
package admit
