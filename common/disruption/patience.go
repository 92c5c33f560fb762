package disruption

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"

	"fairlead.dev/common/contract"
)

// Patience returns how long a lease renewal is valid without a line, if the agent asks for more than usual; 0 if it
// does not. It is at most contract.RestingLease, whatever the agent asks for.
func Patience(lease *coordinationv1.Lease) time.Duration {
	patience := time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second
	if patience >= contract.RestingLease {
		patience -= contract.RestingLease // the extra time for which it is valid while the line is the heartbeat
	}
	if patience <= contract.UsualLease {
		return 0 // the agent did not ask for more
	}
	return min(patience, contract.RestingLease)
}
