// Command fleet measures what a hub with many clusters and many applications costs, and how that grows.
//
//	fleet --agents 1000 --bindings 10000
//
// The hub is real, and so is its API, both from the built programs. The agents are hollow: to the hub they are what real
// ones are, and there is nothing behind them (test/fleet/hollow). Every application is a Deployment of two replicas that
// one ClusterPropagationPolicy divides over at most --copies clusters, by what they have free.
//
// The agents keep lines open to the hub, as real ones do by default, and renew their leases rarely; with --lines=false they
// have none, and renew every ten seconds.
//
// The same is measured at a quarter, at half and at the whole of that size, one beside the other: what grows with its
// square shows. Times are those of this machine, which the agents share with the hub; requests, bytes and processor
// time do not depend on how busy it is. With --profiles a directory gets profiles of the processor time of hub and API
// server, of each scene, and of what the hub has in memory after it.
//
// The scene rollout is played if it is asked for (make bench-rollout). One application goes to all clusters, with a
// RolloutStrategy of three waves: it is edited while its canary soaks, aborted when all clusters have it, rolled out while
// a part of them is silent, paused in the middle of its last wave, and caught up with by those that return. What was
// promised stands beside what was measured. Every write is seen on a watch, so that none between two looks is missed.
package main
