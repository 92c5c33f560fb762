package rollout

import "fairlead.dev/test/story"

// play tells a story, and returns the world at its end and which expectations were not met.
func play(s *story.Story, v story.Variant) (*world, []string, error) {
	w := newWorld(v.Rand())
	w.slow = v.Late
	unmet, err := s.Play(w, v)
	if err == nil {
		w.settle()
	}
	return w, unmet, err
}
