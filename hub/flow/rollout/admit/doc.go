// Package admit decides what a staged rollout does next: which clusters are sent the newest revision, when a wave begins and passes, when
// the rollout halts, and which clusters catch up. It is pure: Decide takes the current state and returns the status to write, with reasons.
//
// The revision of each cluster follows from the status alone (package revision). So nothing is sent before the status is written, and a hub
// that stops in between decides again from the former status.
package admit
