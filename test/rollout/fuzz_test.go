package rollout

import (
	"flag"
	"runtime"
	"sync"
	"testing"

	"fairlead.dev/test/story"
)

var (
	runs = flag.Int("runs", 60, "how many stories are made up")
	seed = flag.Uint64("seed", 1, "the seed of the first of them")
)

// TestInventedStories plays random stories. The properties must hold throughout. At the end, when every obstacle is
// removed, every target must have the newest content. A story that fails is printed in the format of story files.
func TestInventedStories(t *testing.T) {
	t.Parallel()
	seeds := make(chan uint64)
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for n := range seeds {
				invented(t, n)
			}
		})
	}
	for i := range *runs {
		seeds <- *seed + uint64(i)
	}
	close(seeds)
	all.Wait()
}

func invented(t *testing.T, n uint64) {
	t.Helper()
	s := invent(n)
	w, unmet, err := play(s, story.Variant{Order: n, Late: n%4 == 0})
	if err != nil {
		t.Errorf("seed %d: %v\n%s", n, err, s)
		return
	}
	w.mend()
	w.checkMended()
	if broken := append(unmet, w.Broken()...); len(broken) > 0 {
		t.Errorf("seed %d:\n%s\n%s", n, s, broken[0])
	}
}
