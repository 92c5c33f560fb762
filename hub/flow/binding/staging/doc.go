// Package staging chooses which content a cluster gets of an object whose changes are rolled out in waves. It is pure.
//
// A dependency of several workloads follows the rollouts of all. The slowest decides, so that no cluster gets content of a dependency for
// which the rollout of one of its workloads has not reached the cluster.
package staging
