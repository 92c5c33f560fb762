package view

import (
	"time"

	"fairlead.dev/common/contract"
)

// LeaderSilence is how long a replica counts the leader as alive without a message from it.
const LeaderSilence = 5 * time.Second

// Presence says what the agents of this replica must use as their heartbeat. Their lines count while the leader knows
// them: this replica is the leader, or the leader has recently confirmed that it has all lines of this replica.
// Otherwise agents renew their leases, which any next leader can read.
func Presence(elected bool, leaderHeard, now time.Time) string {
	if elected || !leaderHeard.IsZero() && now.Sub(leaderHeard) < LeaderSilence {
		return contract.LineIsPresence
	}
	return contract.LeaseIsPresence
}
