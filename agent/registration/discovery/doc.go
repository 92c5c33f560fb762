// Package discovery reads and checks what a member needs to trust a hub that it has
// never met: the flags that somebody copied from the hub, and the cluster-info that the
// hub shows to everybody. It only thinks.
//
// The token proves that cluster-info was written by a hub that knows the token's
// secret; the hash of the certificate authority proves that it is the hub on which the
// command was printed. Both must hold.
package discovery
