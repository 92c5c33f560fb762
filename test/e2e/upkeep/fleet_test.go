package upkeep

import (
	"os"
	"testing"

	"fairlead.dev/test/fleet"
	"fairlead.dev/test/fleet/fleettest"
)

// shared is used by one test after the other. The test of backups must come first, by file name: the other one removes
// a member.
var shared = fleettest.Of(fleet.Options{Clusters: 3, APIOnly: true})

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// The members of the fleet. One stays connected throughout, one is away while the authority is rotated, and one joins
// again in each phase of the rotation.
const (
	stays = "edge-1"
	away  = "edge-2"
	joins = "edge-3"
)
