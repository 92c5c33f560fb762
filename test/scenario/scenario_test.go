package scenario

import (
	"flag"
	"fmt"
	"testing"

	"fairlead.dev/test/story"
)

var update = flag.Bool("update", false, "write what happens behind the stories")

// orders is the number of further orders of stages in which every story is played.
const orders = 5

func TestStories(t *testing.T) {
	t.Parallel()
	how := story.Telling{
		Setup: []string{"cluster", "app"}, Least: 25, Update: *update, Play: play, ReorderRestarts: true, Variants: map[string]story.Variant{},
	}
	for order := range uint64(orders) {
		how.Variants[fmt.Sprintf("in order %d", order+1)] = story.Variant{Order: order + 1}
	}
	how.Tell(t)
}
