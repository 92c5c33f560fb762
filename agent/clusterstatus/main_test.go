package clusterstatus

import (
	"os"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// TestMain keeps only the logging handler for errors of reflectors. Kubernetes' other one delays errors that come in
// quick succession, by a global clock that tests in synctest bubbles must not share.
func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1] //nolint:reassign // It is made to be.
	os.Exit(m.Run())
}
