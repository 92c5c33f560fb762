package discovery

import "errors"

// Kinds of errors about the flags and the hub, for errors.Is. The errors of this package wrap one of them and add
// what to do.
var (
	// ErrAddress means that the address is not HOST:PORT.
	ErrAddress = errors.New("the address of the hub is malformed")
	// ErrToken means that the token is malformed.
	ErrToken = errors.New("the join token is malformed")
	// ErrCAHash means that a hash is malformed, or there is none.
	ErrCAHash = errors.New("the hash of the hub's certificate authority is missing or malformed")
	// ErrClusterName means that the name is not valid for a cluster.
	ErrClusterName = errors.New("the name of the cluster is not valid")
	// ErrNotAHub means that the server is not a hub.
	ErrNotAHub = errors.New("this is not a hub")
	// ErrCAMismatch means that the hub is not the one that the hash belongs to.
	ErrCAMismatch = errors.New("the hub is not the one that the join command came from")
	// ErrTokenUnknown means that the hub does not know the token, or no longer.
	ErrTokenUnknown = errors.New("the hub does not know the join token (any more)")
	// ErrTokenSecret means that the token's id is known, but its secret is wrong.
	ErrTokenSecret = errors.New("the join token is wrong after its dot")
)
