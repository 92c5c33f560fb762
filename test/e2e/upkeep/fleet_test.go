package upkeep

import (
	"os"
	"testing"

	"fairlead.dev/test/fleet"
	"fairlead.dev/test/fleet/fleettest"
)

// shared is used by one test after the other. That of backups comes first by name of file: the other lets a member go.
var shared = fleettest.Of(fleet.Options{Clusters: 3, APIOnly: true})

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// The members of the fleet. One stays connected throughout, one is away while the authority is
// exchanged, and one joins anew in each phase of that.
const (
	stays = "edge-1"
	away  = "edge-2"
	joins = "edge-3"
)
