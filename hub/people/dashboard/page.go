package dashboard

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"fairlead.dev/common/prose"
	"fairlead.dev/hub/people/auth"
	"fairlead.dev/hub/people/live"
)

// visit is a request of a signed-in user for a page.
type visit struct {
	request *http.Request
	session *auth.Session
	user    *auth.User
	now     time.Time
	query   url.Values
}

// page is a page, with its fragments from top to bottom.
type page struct {
	// title is the window's title, and nav the selected entry of the navigation.
	title, nav string
	fragments  []fragment
	// heading is above the fragments, and is not updated while the page is open.
	heading heading
	// follows says whether a topic concerns this page; nil if the page is not live.
	follows func(live.Topic) bool
	// every is the interval at which the page is rendered again without a topic, for data that is not in the hub's
	// cache; 0 if there is none.
	every time.Duration
}

// heading is the top of a page.
type heading struct {
	Title string
	// Kind is shown before the title; Trail are links to the parent pages.
	Kind  string
	Trail []link
	// Actions are links to the actions that the user may take.
	Actions []link
}

// link is a link with its text.
type link struct {
	Text, To string
	// Danger marks destructive actions.
	Danger bool
}

// fragment is a part of a page that is replaced as a whole.
type fragment struct {
	// id is unique within the page; template renders the fragment from data.
	id, template string
	data         any
	// still says that it is not updated, because people type into it.
	still bool
}

// pageFunc returns a page for a visit.
type pageFunc func(ctx context.Context, v *visit) (*page, error)

// frame is the data of the layout template.
type frame struct {
	Title, Nav string
	Heading    heading
	Fragments  []live.Fragment
	User, CSRF string
	// Live is the address of the stream; empty if the page is not live.
	Live  string
	Local bool
	// Notice is shown once, on the page after an action.
	Notice string
}

// show serves a page.
func (s *Server) show(of pageFunc) visitFunc {
	return func(w http.ResponseWriter, r *http.Request, v *visit) {
		p, err := of(r.Context(), v)
		if err != nil {
			s.serveError(w, r, v, err)
			return
		}
		s.write(w, v, p, http.StatusOK)
	}
}

// write renders a page and sends it.
func (s *Server) write(w http.ResponseWriter, v *visit, p *page, code int) {
	parts, err := s.render(p)
	if err != nil {
		s.log.Error(err, "Rendering a page failed", "path", v.request.URL.Path)
		http.Error(w, "This page failed; the hub's log says why.", http.StatusInternalServerError)
		return
	}
	f := frame{Title: p.title, Nav: p.nav, Heading: p.heading, Fragments: parts, User: v.user.Name, CSRF: v.session.CSRF, Local: s.Local}
	if p.follows != nil || p.every > 0 {
		f.Live = "/live" + v.request.URL.RequestURI()
	}
	f.Notice = s.signIn.Sessions.TakeNote(v.session, noticeNote)
	s.execute(w, "page", f, code)
}

// execute renders a template and sends the result completely or not at all. Control characters in texts of others are
// made harmless.
func (s *Server) execute(w http.ResponseWriter, name string, data any, code int) {
	var out bytes.Buffer
	if err := s.layout.ExecuteTemplate(&out, name, data); err != nil {
		s.log.Error(err, "Rendering a page failed", "template", name)
		http.Error(w, "This page failed; the hub's log says why.", http.StatusInternalServerError)
		return
	}
	text := prose.Printable(out.String())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text)
}

// showNextPage shows a page that redirects by itself, with a link for browsers that do not.
func (s *Server) showNextPage(w http.ResponseWriter, o auth.NextPage) {
	w.Header().Set("Refresh", "0; url="+o.To)
	s.execute(w, "next", o, http.StatusOK)
}

// render renders the fragments of a page.
func (s *Server) render(p *page) ([]live.Fragment, error) {
	out := make([]live.Fragment, 0, len(p.fragments))
	for _, f := range p.fragments {
		var buffer bytes.Buffer
		if err := s.layout.ExecuteTemplate(&buffer, f.template, f.data); err != nil {
			return nil, fmt.Errorf("fragment %q: %w", f.id, err)
		}
		text := prose.Printable(buffer.String())
		sum := sha256.Sum256([]byte(text))
		const short = 9
		out = append(out, live.Fragment{
			ID: f.id, Still: f.still, Tag: base64.RawURLEncoding.EncodeToString(sum[:short]),
			HTML: template.HTML(text), //nolint:gosec // html/template escaped it.
		})
	}
	return out, nil
}

// Limits of query parameters.
const (
	maxQuery = 200
	maxPage  = 1 << 20
)

// text returns a query parameter, truncated to maxQuery.
func (v *visit) text(key string) string {
	value := v.query.Get(key)
	if len(value) > maxQuery {
		return value[:maxQuery]
	}
	return value
}

// number returns a query parameter that counts from 1.
func (v *visit) number(key string) int {
	n, err := strconv.Atoi(v.query.Get(key))
	if err != nil || n < 1 || n > maxPage {
		return 1
	}
	return n
}

// with returns the address of this page with changed parameters; an empty value removes one.
func (v *visit) with(pairs ...string) string {
	query := url.Values{}
	for key, values := range v.query {
		if len(values) == 1 && len(values[0]) <= maxQuery && len(query) < 16 {
			query.Set(key, values[0])
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			query.Del(pairs[i])
		} else {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	if len(query) == 0 {
		return v.request.URL.EscapedPath()
	}
	return v.request.URL.EscapedPath() + "?" + query.Encode()
}
