package view

import (
	"time"

	"fairlead.dev/common/contract"
)

// LeaderSilence is how long a replica believes the leader to be there without a word from it.
const LeaderSilence = 5 * time.Second

// Presence is by what the agents of this replica are to show that they are there. Their lines do, as long as the leader knows them: this replica is
// it, or was told by it of late that it has all lines of this one. Otherwise agents renew their leases, which the next leader reads.
func Presence(elected bool, leaderHeard, now time.Time) string {
	if elected || !leaderHeard.IsZero() && now.Sub(leaderHeard) < LeaderSilence {
		return contract.LineIsPresence
	}
	return contract.LeaseIsPresence
}
