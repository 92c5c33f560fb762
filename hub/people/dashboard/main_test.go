package dashboard_test

import (
	"testing"

	"fairlead.dev/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }
