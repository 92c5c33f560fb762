package cli

import (
	"testing"

	"fairlead.dev/test/reference"
)

func TestThePageOfFlagsIsUpToDate(t *testing.T) {
	t.Parallel()
	reference.Check(t, "agent", newRoot(Environment{}))
}
