// Package grant says what an agent may do on the hub. It only thinks.
//
// An agent reads its own Works and changes their finalizers and status, reads its own
// Cluster and changes its status, renews its own lease, asks for its own next
// certificate, reads how kinds are to be interpreted, and emits events about its Works.
// It sees nothing of another cluster. What these rules cannot say (that of a Work only
// the finalizers are changed) an admission policy does.
package grant
