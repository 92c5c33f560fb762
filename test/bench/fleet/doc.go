// Command fleet measures the cost of a hub with many clusters and applications, and how the cost grows.
//
//	fleet --agents 1000 --bindings 10000
//
// The hub and its API server are real, run from the built programs. The agents are hollow (test/fleet/hollow): the hub
// cannot tell them from real ones, but they have no member. Every application is a Deployment of two replicas, which
// one ClusterPropagationPolicy divides over at most --copies clusters by their free capacity.
//
// The agents keep lines open to the hub, as real ones do by default, and renew their leases rarely; with --lines=false
// they have no lines and renew every ten seconds.
//
// The same scenes are measured at a quarter, half and all of the size, side by side, so that quadratic growth shows.
// Times are those of this machine, which the agents share with the hub; requests, bytes and processor time do not
// depend on how busy it is. For each scene the output tells what the hub, API server and etcd used, and who sent which
// requests: agents and the bench count their own, and the rest of what the API server counts is the hub and its
// controllers.
//
// Targets are printed next to the measurements, at the largest size that each applies to: see targets.go. The program
// exits with 2 if a target is missed.
//
// With --profiles a directory receives CPU profiles of the hub, API server and agents for each scene, and heap profiles
// of the hub after it; a table says what the API server does for each write.
//
// The scene region loses a quarter of the clusters until all their applications run elsewhere, and then has them back.
// The policy does not tolerate a lost cluster, and the hub does not limit the rate of evictions
// (--hub-args=--resource-eviction-rate=5 is the usual limit), so the scene measures what the hub itself needs once it
// trusts that the clusters are lost, which takes it some 40 seconds and more.
//
// The scene rollout runs only if asked for (make bench-rollout). One application goes to all clusters with a
// RolloutStrategy of three waves: it is edited while its canary soaks, aborted when all clusters have it, rolled out
// while some of them are silent, paused in the middle of its last wave, and caught up with by the clusters that return.
// Targets are printed next to the measurements. Every write is observed through a watch, because polling would miss
// some.
package main
