package rollout

import (
	"flag"
	"testing"

	"fairlead.dev/test/story"
)

var update = flag.Bool("update", false, "write what happens behind the stories")

func TestStories(t *testing.T) {
	t.Parallel()
	story.Telling{
		Setup: []string{"cluster", "strategy", "wave", "app"}, Least: 28, Update: *update,
		Play: func(s *story.Story, v story.Variant) (story.World, []string, error) { return play(s, v) },
		Variants: map[string]story.Variant{
			"in another order": {Order: 1}, "in a third order": {Order: 2}, "with a binding stage that is late": {Order: 3, Late: true},
		},
	}.Tell(t)
}
