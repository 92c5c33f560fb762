// Package staging chooses which content a cluster gets of an object whose changes are rolled out
// in waves. It is pure.
//
// What several workloads need goes with each of them, and each has its own rollout: the slowest
// decides, so that no cluster gets of a dependency what one of its workloads there has not been
// admitted to.
package staging
