package connect

import (
	"net/http"

	"fairlead.dev/hub/fleet/connect/lines"
)

// Peers are the other replicas of the hub, which hold lines as well. Its methods are called for every request, from many
// goroutines, and must answer from memory.
type Peers interface {
	// Holder names the replica that holds a line of a cluster, and says whether there is one. It is never this one.
	Holder(cluster string) (replica string, ok bool)
	// Transport sends requests to a replica, and carries those that upgrade like that of net/http does; nil if the
	// replica is not known any more. What it is given is on the way to the member already: the path begins with
	// contract.ClusterProxyPath, and the headers say who asks (contract.UserHeader, contract.GroupHeader), by which name the
	// request is known (contract.RequestHeader), and that it was forwarded (contract.HopHeader). Or it is a question about a session, at
	// contract.LineAttachPath. The host and the scheme are the transport's to set. The other end authenticates the peer and gives the request to Server.ServePeer.
	Transport(replica string) http.RoundTripper
	// Sessions are, by replica, the sessions of the lines of a cluster that other replicas have, or may have: one that is not heard is in
	// doubt for a moment. Replicas that do not tell sessions are left out.
	Sessions(cluster string) map[string]string
	// OnChange has f called with the name of a cluster whenever a line of it at another replica has changed, until stop is called. F must
	// not block.
	OnChange(f func(cluster string)) (stop func())
	// Lines are the lines that the other replicas hold or held, by replica.
	Lines() map[string][]lines.State
}
