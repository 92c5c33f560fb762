//go:build !race

package lua

import (
	"context"
	"runtime"
	"testing"

	"fairlead.dev/common/interpreter"
)

// TestAnOperationAllocatesLittle limits each operation to 60 kB, conversions included. Compilation is not included,
// since it happens only when a customization changes. The race detector has allocations of its own.
func TestAnOperationAllocatesLittle(t *testing.T) { //nolint:paralleltest // It looks at what the process allocates.
	const most, turns = 60_000, 200
	i, obj := compileAll(t, customization("a", everyRule())), deployed(t)
	for _, op := range interpreter.Operations() {
		q := questionTo(op, obj)
		var before, after runtime.MemStats
		for turn := range 2 * turns {
			if turn == turns { // the states are there now
				runtime.ReadMemStats(&before)
			}
			if _, err := q.Ask(context.Background(), i); err != nil {
				t.Fatal(err)
			}
		}
		runtime.ReadMemStats(&after)
		each := (after.TotalAlloc - before.TotalAlloc) / turns
		t.Logf("%s allocates %d bytes", op, each)
		if each > most {
			t.Errorf("%s allocates %d bytes; at most %d are wanted", op, each, most)
		}
	}
}
