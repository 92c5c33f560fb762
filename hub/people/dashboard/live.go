package dashboard

import (
	"context"
	"net/http"

	"fairlead.dev/hub/people/live"
)

// live serves the stream of a page.
func (s *Server) live(of pageFunc) visitFunc {
	return func(w http.ResponseWriter, r *http.Request, v *visit) {
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
				f := s.explain(err, v.user)
				return f.Title + ": " + f.Text
			},
			Reader: v.session,
			Alive:  func() bool { return s.signIn.Sessions.Alive(v.session) },
		})
		if err != nil {
			s.log.V(1).Info("A live page ended", "path", r.URL.Path, "reason", err.Error())
		}
	}
}
