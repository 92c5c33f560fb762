package peers

import (
	"context"
	"fmt"
	"net"
	"regexp"
)

// Record is the content of a replica's Lease.
type Record struct {
	// ID is the name of the replica.
	ID string
	// Address is the HOST:PORT at which it is reached.
	Address string
	// Pin is the SHA-256 of its public key in hexadecimal.
	Pin string
	// Version changes whenever the replica renews its Lease.
	Version string
}

// Directory stores the Leases of all replicas. Its methods are safe for concurrent use.
type Directory interface {
	// List returns the records of all replicas, including this one.
	List(ctx context.Context) ([]Record, error)
	// Renew writes the record of this replica with a new version, and creates it if there is none.
	Renew(ctx context.Context, r Record) error
	// Remove deletes a record if it has the given version, or any version if that is empty. It is no error if there is
	// none.
	Remove(ctx context.Context, r Record) error
}

// validate returns an error if a record is not that of a replica.
func (r Record) validate() error {
	if !isPin(r.Pin) {
		return fmt.Errorf("the Lease of replica %q has no pin of a key", r.ID)
	}
	if host, port, err := net.SplitHostPort(r.Address); err != nil || host == "" || port == "" || port == "0" {
		return fmt.Errorf("the Lease of replica %q has no address HOST:PORT, but %q", r.ID, r.Address)
	}
	return nil
}

func isPin(s string) bool { return regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(s) }
