package contract

import "time"

// The API through which operators reach into members, by the line that each agent keeps open to the hub.
const (
	// ConnectGroup and ConnectVersion are the API group of lines.
	ConnectGroup   = "connect.fairlead.dev"
	ConnectVersion = "v1alpha1"
	// LinesResource are the lines, one for each cluster that has one, named like the cluster. An agent opens its own by a
	// POST to the subresource AttachSubresource.
	LinesResource     = "lines"
	AttachSubresource = "attach"
	// ConnectClustersResource are the clusters as the group names them. Whoever may act on the subresource
	// ProxySubresource of one may send requests to its API.
	ConnectClustersResource = "clusters"
	ProxySubresource        = "proxy"
	// LineProtocol is the protocol to which the request that opens a line upgrades.
	LineProtocol = "fairlead-line/1"
)

// What hub and agent tell each other in the headers of requests that go through a line. Both ends take them off what
// comes from elsewhere.
const (
	// ConnectHeaderPrefix begins all of them, in the canonical form.
	ConnectHeaderPrefix = "Fairlead-"
	// UserHeader is the name of the operator at the hub.
	UserHeader = "Fairlead-User"
	// GroupHeader is a group of the operator at the hub; there may be many.
	GroupHeader = "Fairlead-Group"
	// RequestHeader is the hub's own name of a request, which nobody else can choose; both ends record it.
	RequestHeader = "Fairlead-Request"
	// HopHeader says that another replica of the hub has forwarded a request already.
	HopHeader = "Fairlead-Hop"
)

// What the request that opens a line says besides.
const (
	// LineSessionHeader tells the processes of agents apart that have the same certificate: it is random, and other than the
	// session in the lease nobody but agent and hub ever reads it. While a line of one answers, no other is let in.
	LineSessionHeader = "Fairlead-Session"
	// LineNotAfterHeader is when the certificate of the agent ends, as RFC 3339 has it, since the API server does not
	// tell the hub. The line ends then. One that says nothing, or too late a time, ends when the line is too old.
	LineNotAfterHeader = "Fairlead-Not-After"
	// LineOperatorsHeader says in few words what the owner of the member lets operators do, for people: `off`, `read`,
	// `read, exec in shop`.
	LineOperatorsHeader = "Fairlead-Operators"
)

// How requests that upgrade go through a line, which cannot upgrade: as POSTs.
const (
	// LineMethodHeader is the method that such a request has in truth.
	LineMethodHeader = "Fairlead-Method"
	// LineUpgradeHeader is the protocol that the request upgrades to, and in the answer the one that was agreed on.
	LineUpgradeHeader = "Fairlead-Upgrade"
	// LineStatusHeader is the status that its answer has in truth, if that is 101.
	LineStatusHeader = "Fairlead-Status"
)

// What the answer to a request that opens a line says besides.
const (
	// LineReplicaHeader names the replica of the hub that holds the line.
	LineReplicaHeader = "Fairlead-Replica"
	// LinePingHeader is after how long without a word the hub asks whether the agent is there, as a duration. An agent may say in
	// the request what it would like.
	LinePingHeader = "Fairlead-Ping"
	// LinePresenceHeader is LineIsPresence or LeaseIsPresence: by what the hub tells that the member is there.
	LinePresenceHeader = "Fairlead-Presence"
	// LineMaxAgeHeader is after how long the agent is to open a new line, as a duration.
	LineMaxAgeHeader = "Fairlead-Max-Age"
)

// Values of LinePresenceHeader, and of the path /presence by which a hub changes its mind while the line is up.
const (
	// LineIsPresence says that the line is the sign of life, and that the lease need be renewed rarely.
	LineIsPresence = "line"
	// LeaseIsPresence says that the lease is to be renewed as if there were no line.
	LeaseIsPresence = "lease"
)

// RestingLease is the duration from which on a Lease says that its agent renews it rarely, because its line is the sign of
// life. How old such a lease is says nothing.
const RestingLease = 10 * time.Minute

// UsualLease is the duration of the Lease of an agent that was not told otherwise, and has no line.
const UsualLease = 40 * time.Second

// Paths that the hub asks an agent for over a line, and no operator can: those of operators begin with
// LineProxyPrefix.
const (
	// LineProxyPrefix comes before the path of a request to the member's API.
	LineProxyPrefix = "/proxy"
	// LineSelfPath is answered with 200 by an agent that is well, and with 503 and a sentence by one that is not.
	LineSelfPath = "/self"
	// LinePresencePath takes a PUT of LineIsPresence or LeaseIsPresence.
	LinePresencePath = "/presence"
	// LineRenewPath takes a POST: the agent is to open a new line, and not to end this one before.
	LineRenewPath = "/renew"
)

// ConnectAPIPath is the root of the group and version.
const ConnectAPIPath = "/apis/" + ConnectGroup + "/" + ConnectVersion

// LineAttachPath is where the agent of a cluster opens its line.
func LineAttachPath(cluster string) string {
	return ConnectAPIPath + "/" + LinesResource + "/" + cluster + "/" + AttachSubresource
}

// ClusterProxyPath is where the API of a cluster is found at the hub.
func ClusterProxyPath(cluster string) string {
	return ConnectAPIPath + "/" + ConnectClustersResource + "/" + cluster + "/" + ProxySubresource
}

// What the replicas of a hub tell each other: in a Lease each, and in requests that one forwards to another.
const (
	// ReplicaLabel is on the Lease of each replica of a hub; its value is "true".
	ReplicaLabel = Prefix + "hub-replica"
	// PeerAddressAnnotation on that Lease is HOST:PORT where the others reach the replica.
	PeerAddressAnnotation = Prefix + "peer-address"
	// PeerPinAnnotation on that Lease is the SHA-256 of the public key that the replica shows there, in hexadecimal.
	PeerPinAnnotation = Prefix + "peer-pin"
	// FirstHop is the value of HopHeader in a request that was forwarded. It is not forwarded again.
	FirstHop = "1"
	// LineOpenedHeader is how long ago a replica has opened a line, as a duration, where it asks another one whether that has a line
	// of the same cluster, at LineAttachPath and with the hash of the session in LineSessionHeader. One that is still to be opened has none.
	LineOpenedHeader = "Fairlead-Opened"
)
