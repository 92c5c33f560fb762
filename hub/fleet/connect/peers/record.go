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
	// Address is HOST:PORT where it is reached.
	Address string
	// Pin is the SHA-256 of its public key, in hexadecimal.
	Pin string
	// Version changes whenever the replica renews its Lease.
	Version string
}

// Directory keeps the Leases of all replicas. Its methods may be called by several goroutines.
type Directory interface {
	// List returns the records of all replicas, that of this one among them.
	List(ctx context.Context) ([]Record, error)
	// Renew writes the record of this replica with a new version, and makes it where there is none.
	Renew(ctx context.Context, r Record) error
	// Remove deletes a record if it still has that version, or whatever version it has if that is empty. It is no error if there is none.
	Remove(ctx context.Context, r Record) error
}

// validate says why a record is none of a replica.
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
