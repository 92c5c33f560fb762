package discovery

import "errors"

// What can be wrong with the flags and with a hub. The errors of this package are one
// of them with what to do added, for errors.Is.
var (
	// ErrAddress : the address is not HOST:PORT.
	ErrAddress = errors.New("the address of the hub is malformed")
	// ErrToken : the token is not one.
	ErrToken = errors.New("the join token is malformed")
	// ErrCAHash : a hash is not one, or there is none.
	ErrCAHash = errors.New("the hash of the hub's certificate authority is missing or malformed")
	// ErrClusterName : no cluster can have that name.
	ErrClusterName = errors.New("the name of the cluster is not valid")
	// ErrNotAHub : what answers is no hub.
	ErrNotAHub = errors.New("this is not a hub")
	// ErrCAMismatch : the hub is another one than that of the hash.
	ErrCAMismatch = errors.New("the hub is not the one that the join command came from")
	// ErrTokenUnknown : the hub does not know the token, or no longer.
	ErrTokenUnknown = errors.New("the hub does not know the join token, or no longer")
	// ErrTokenSecret : the id of the token is known, but its secret is another one.
	ErrTokenSecret = errors.New("the join token is wrong after its dot")
)
