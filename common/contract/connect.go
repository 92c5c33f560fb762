package contract

import "time"

// The API through which operators reach members, over the line that each agent keeps open to the hub.
const (
	// ConnectGroup and ConnectVersion are the API group of lines.
	ConnectGroup   = "connect.fairlead.dev"
	ConnectVersion = "v1alpha1"
	// LinesResource are the lines, one per connected cluster and named like it. An agent opens its line with a POST
	// to the subresource AttachSubresource.
	LinesResource     = "lines"
	AttachSubresource = "attach"
	// ConnectClustersResource are the clusters in this group. Whoever has rights on the subresource ProxySubresource
	// of one may send requests to its API.
	ConnectClustersResource = "clusters"
	ProxySubresource        = "proxy"
	// LineProtocol is the protocol to which the request that opens a line upgrades.
	LineProtocol = "fairlead-line/1"
)

// Headers between hub and agent in requests over a line. Both ends remove them from requests of other origin.
const (
	// ConnectHeaderPrefix is the canonical prefix of all of them.
	ConnectHeaderPrefix = "Fairlead-"
	// UserHeader is the name of the operator on the hub.
	UserHeader = "Fairlead-User"
	// GroupHeader is a group of the operator on the hub; there may be several.
	GroupHeader = "Fairlead-Group"
	// RequestHeader is the hub's ID of a request, which nobody else can choose; both ends record it.
	RequestHeader = "Fairlead-Request"
	// HopHeader says that another replica of the hub has already forwarded a request.
	HopHeader = "Fairlead-Hop"
)

// Further headers of the request that opens a line.
const (
	// LineSessionHeader tells agent processes with the same certificate apart: it is random and, unlike the session
	// in the lease, known only to agent and hub. While the line of one session answers, no other session is admitted.
	LineSessionHeader = "Fairlead-Session"
	// LineNotAfterHeader is the expiry of the agent's certificate (RFC 3339), since the API server does not pass it
	// to the hub. The line ends then. Without it, or with a later time, the line ends at its maximum age.
	LineNotAfterHeader = "Fairlead-Not-After"
	// LineOperatorsHeader summarizes, for people, what the owner of the member allows operators to do: `off`, `read`,
	// `read, exec in shop`.
	LineOperatorsHeader = "Fairlead-Operators"
)

// Headers of upgrade requests over a line, which cannot upgrade: they are sent as POSTs.
const (
	// LineMethodHeader is the original method of such a request.
	LineMethodHeader = "Fairlead-Method"
	// LineUpgradeHeader is the protocol that the request upgrades to and, in the answer, the agreed one.
	LineUpgradeHeader = "Fairlead-Upgrade"
	// LineStatusHeader is the original status of the answer, if that is 101.
	LineStatusHeader = "Fairlead-Status"
)

// Further headers of the answer to a request that opens a line.
const (
	// LineReplicaHeader names the replica of the hub that holds the line.
	LineReplicaHeader = "Fairlead-Replica"
	// LinePingHeader is the silence after which the hub pings the agent, as a duration. The agent may ask for a value
	// in the request.
	LinePingHeader = "Fairlead-Ping"
	// LinePresenceHeader is LineIsPresence or LeaseIsPresence: what the hub takes as the heartbeat.
	LinePresenceHeader = "Fairlead-Presence"
	// LineMaxAgeHeader is the age at which the agent has to open a new line, as a duration.
	LineMaxAgeHeader = "Fairlead-Max-Age"
)

// Values of LinePresenceHeader, and of the path /presence with which a hub changes it while the line is up.
const (
	// LineIsPresence says that the line is the heartbeat, so that the lease may be renewed rarely.
	LineIsPresence = "line"
	// LeaseIsPresence says that the lease has to be renewed as if there were no line.
	LeaseIsPresence = "lease"
)

// RestingLease is the duration from which on a Lease says that its agent renews it rarely, because its line is the
// heartbeat. The age of such a lease means nothing.
const RestingLease = 10 * time.Minute

// UsualLease is the default duration of the Lease of an agent without a line.
const UsualLease = 40 * time.Second

// Paths that the hub requests from an agent over a line. Operators cannot reach them: their paths begin with
// LineProxyPrefix.
const (
	// LineProxyPrefix precedes the path of a request to the member's API.
	LineProxyPrefix = "/proxy"
	// LineSelfPath is answered with 200 if the agent is well, otherwise with 503 and a sentence.
	LineSelfPath = "/self"
	// LinePresencePath takes a PUT of LineIsPresence or LeaseIsPresence.
	LinePresencePath = "/presence"
	// LineRenewPath takes a POST: the agent has to open a new line before it ends this one.
	LineRenewPath = "/renew"
)

// ConnectAPIPath is the root of the group and version.
const ConnectAPIPath = "/apis/" + ConnectGroup + "/" + ConnectVersion

// LineAttachPath returns the path at which the agent of a cluster opens its line.
func LineAttachPath(cluster string) string {
	return ConnectAPIPath + "/" + LinesResource + "/" + cluster + "/" + AttachSubresource
}

// ClusterProxyPath returns the path of a cluster's API on the hub.
func ClusterProxyPath(cluster string) string {
	return ConnectAPIPath + "/" + ConnectClustersResource + "/" + cluster + "/" + ProxySubresource
}

// Names used between replicas of a hub: in a Lease per replica, and in requests that one forwards to another.
const (
	// ReplicaLabel is on the Lease of each replica of a hub; its value is "true".
	ReplicaLabel = Prefix + "hub-replica"
	// PeerAddressAnnotation, on that Lease, is the HOST:PORT at which other replicas reach this one.
	PeerAddressAnnotation = Prefix + "peer-address"
	// PeerPinAnnotation, on that Lease, is the SHA-256 of the public key that the replica presents there, in
	// hexadecimal.
	PeerPinAnnotation = Prefix + "peer-pin"
	// FirstHop is the value of HopHeader in a forwarded request, which is not forwarded again.
	FirstHop = "1"
	// LineOpenedHeader is how long ago a replica opened a line, as a duration, in its question whether another
	// replica has a line of the same cluster (at LineAttachPath, with the hash of the session in LineSessionHeader).
	// It is missing for a line that is yet to be opened.
	LineOpenedHeader = "Fairlead-Opened"
)
