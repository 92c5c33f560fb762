package heap_test

import (
	"testing"

	"fairlead.dev/hub/machinery/controlplane/heap"
)

func TestPercent(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	for name, tc := range map[string]struct {
		live, room uint64
		want       int
	}{
		"a small heap in a large room is seldom searched": {live: 100 * mb, room: 6000 * mb, want: 400},
		"one that fills half of its room may double":      {live: 500 * mb, room: 1000 * mb, want: 100},
		"in between it may fill the room":                 {live: 250 * mb, room: 1000 * mb, want: 300},
		"what needs more than its room does as Go does":   {live: 2000 * mb, room: 1000 * mb, want: 100},
		"no room is what Go does":                         {live: 100 * mb, want: 100},
		"nothing was searched yet":                        {room: 1000 * mb, want: 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := heap.Percent(tc.live, tc.room); got != tc.want {
				t.Errorf("Percent(%d, %d) = %d, want %d", tc.live, tc.room, got, tc.want)
			}
		})
	}
}
