package rollout

import "fairlead.dev/test/story"

// play plays a story, and returns the world at its end and the unmet expectations.
func play(s *story.Story, v story.Variant) (*world, []string, error) {
	w := newWorld(v.Rand())
	w.slow = v.Late
	unmet, err := s.Play(w, v)
	if err == nil {
		w.settle()
	}
	return w, unmet, err
}
