// Package prune removes from an object what is only meaningful on its hub: manifests for members, revisions of
// rollouts and objects migrated from other systems all leave it out.
package prune
