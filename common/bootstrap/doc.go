// Package bootstrap defines what a hub and a joining agent use before they can trust each other: the join token, how
// the hub stores it, and the hash by which the agent verifies the hub's certificate authority. It is pure: no client,
// no clock, no source of randomness of its own.
//
// A join token is a bootstrap token of Kubernetes, so that the API server and its controllers authenticate it, sign
// cluster-info with it and delete it when it has expired. Annotations of its Secret add the rest: which clusters may
// join with it and how many, what they get, and which ones did.
package bootstrap
