// Package discovery validates what a member needs to trust a hub that it has never met: the flags that a person
// copied from the hub, and the ConfigMap cluster-info that the hub publishes. It is pure.
//
// The token proves that cluster-info was written by a hub that knows the token's secret; the hash of the certificate
// authority proves that it is the hub on which the command was printed. Both must hold.
package discovery
