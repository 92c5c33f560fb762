package clusterstatus

import (
	"os"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// TestMain has errors of reflectors logged and no more: beside that Kubernetes holds up who reports one shortly after another, by a time that all
// tests share, of which some have a clock of their own.
func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1] //nolint:reassign // It is made to be.
	os.Exit(m.Run())
}
