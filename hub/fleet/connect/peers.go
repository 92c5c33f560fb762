package connect

import (
	"net/http"

	"fairlead.dev/hub/fleet/connect/lines"
)

// Peers has the other replicas of the hub, which hold lines as well. Its methods are called for every request, from many goroutines, and
// must answer from memory.
type Peers interface {
	// Holder returns the replica that holds a line of a cluster; false if no other replica does.
	Holder(cluster string) (replica string, ok bool)
	// Transport sends requests to a replica, and carries those that upgrade like that of net/http does; nil if the
	// replica is not known any more. What it is given is on the way to the member already: the path begins with
	// contract.ClusterProxyPath, and the headers say who asks (contract.UserHeader, contract.GroupHeader), by which name the
	// request is known (contract.RequestHeader), and that it was forwarded (contract.HopHeader). Or it is a question about a session, at
	// contract.LineAttachPath. The host and the scheme are the transport's to set. The other end authenticates the peer and gives the request to Server.ServePeer.
	Transport(replica string) http.RoundTripper
	// Sessions returns, by replica, the session of the line that the replica has of a cluster, or may have, since it has not been heard
	// from for a moment. Replicas of a version without sessions are left out.
	Sessions(cluster string) map[string]string
	// OnChange registers a function that is called with the name of a cluster whenever a line of it at another replica has changed, until
	// stop is called. The function must not block.
	OnChange(f func(cluster string)) (stop func())
	// Lines returns the lines of each other replica, open or ended.
	Lines() map[string][]lines.State
}
