package dashboard

import (
	"context"
	"net/http"

	"fairlead.dev/hub/people/live"
)

// Limits of open streams of pages.
const (
	maxStreams      = 500
	maxStreamsOfOne = 24
)

// live serves the event stream of a page.
func (s *Server) live(of pageFunc) visitFunc {
	return func(w http.ResponseWriter, r *http.Request, v *visit) {
		leave, ok := s.streams.Acquire(v.user)
		if !ok {
			http.Error(w, "Too many pages are open.", http.StatusTooManyRequests)
			return
		}
		defer leave()
		err := s.topics.Serve(w, r, live.Page{
			Make: func(ctx context.Context) (live.Content, error) {
				v.now = s.clock.Now()
				p, err := of(ctx, v)
				if err != nil {
					return live.Content{}, err
				}
				parts, err := s.render(p)
				return live.Content{Fragments: parts, Follows: p.follows, Every: p.every}, err
			},
			Explain: func(err error) string {
				f := s.describeError(err, v.user)
				return f.Title + ": " + f.Text
			},
			Alive: func() bool { return s.signIn.Alive(r.Context(), v.session) },
		})
		if err != nil {
			s.log.V(1).Info("A live page ended", "path", r.URL.Path, "reason", err.Error())
		}
	}
}
