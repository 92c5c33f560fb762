package browser

import (
	"testing"

	"fairlead.dev/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
