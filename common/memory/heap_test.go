package memory_test

import (
	"testing"

	"fairlead.dev/common/memory"
)

func TestPercent(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	for name, tc := range map[string]struct {
		live uint64
		want int
	}{
		"nothing was searched yet":                  {want: 100},
		"a small heap doubles":                      {live: 50 * mb, want: 100},
		"one that is just small doubles":            {live: 256 * mb, want: 100},
		"a larger one grows by as much as that one": {live: 320 * mb, want: 80},
		"a large one grows by half":                 {live: 512 * mb, want: 50},
		"and so does the largest":                   {live: 5000 * mb, want: 50},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := memory.Percent(tc.live); got != tc.want {
				t.Errorf("Percent(%d) = %d, want %d", tc.live, got, tc.want)
			}
		})
	}
}
