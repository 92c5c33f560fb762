package connect

import (
	"net/http"

	"fairlead.dev/hub/fleet/connect/lines"
)

// Peers are the other replicas of the hub, and their lines. Its methods are called for every request, concurrently, and
// must answer from memory.
type Peers interface {
	// Holder returns the replica that holds a line of a cluster; false if none of the others does.
	Holder(cluster string) (replica string, ok bool)
	// Transport sends requests to a replica, and upgrades connections as net/http's transport does; nil if the replica
	// is no longer known. The path of a request starts with contract.ClusterProxyPath, and its headers name the caller
	// (contract.UserHeader, contract.GroupHeader), the id of the request (contract.RequestHeader) and that it was
	// forwarded (contract.HopHeader). Requests about sessions go to contract.LineAttachPath instead. The transport sets
	// the host and the scheme. The other replica authenticates this one, and passes the request to Server.ServePeer.
	Transport(replica string) http.RoundTripper
	// Sessions returns, by replica, the session of the line that the replica has of a cluster, or may have if it has
	// just become silent. Replicas of a version without sessions are omitted.
	Sessions(cluster string) map[string]string
	// OnChange registers a function that is called with the name of a cluster whenever one of its lines at another
	// replica changes, until stop is called. The function must not block.
	OnChange(f func(cluster string)) (stop func())
	// Lines returns the lines of each other replica, open or ended.
	Lines() map[string][]lines.State
}
