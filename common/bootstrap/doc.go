// Package bootstrap is what a hub and an agent that joins it agree on before they can
// trust each other: the join token, how it is kept on the hub, and the hash by which
// the agent knows the hub's certificate authority. It only thinks: no client, no
// clock, no source of randomness of its own.
//
// A join token is a bootstrap token of Kubernetes, so that the API server and its
// controllers authenticate it, sign cluster-info with it and delete it when it has
// expired. The rest is ours, in annotations of its Secret: which clusters may join with
// it and how many, what they get, and which ones did.
package bootstrap
