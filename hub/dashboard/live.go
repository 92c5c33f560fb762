package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// How streams behave.
const (
	// liveEvery is the least time between two looks at what changed.
	liveEvery = time.Second
	// restFactor is how many times longer than making a page takes it is not made again, so
	// that open pages leave the hub its time whatever happens on it.
	restFactor = 20
	// beatsEvery is the same for what changes all the time: heartbeats.
	beatsEvery = 15 * time.Second
	// pingEvery keeps proxies from ending a stream, and tells of sessions that ended.
	pingEvery = 20 * time.Second
	// writeTimeout is how long a browser may take nothing.
	writeTimeout = 20 * time.Second
	maxStreams   = 500
	// maxStreamsOfOne bounds those of one session.
	maxStreamsOfOne = 24
	// haveParameter holds the tags of the fragments that the browser has.
	haveParameter = "have"
)

// live serves the stream of a page: it sends the fragments that differ from those that the
// browser has, as often as something changes.
func (s *Server) live(of pageFunc) visitFunc {
	return func(w http.ResponseWriter, r *http.Request, v *visit) {
		if !s.topics.enter(v.session) {
			http.Error(w, "Too many pages are open.", http.StatusTooManyRequests)
			return
		}
		defer s.topics.leave(v.session)
		h := w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("X-Accel-Buffering", "no") // proxies must pass each event on at once
		have := map[string]bool{}
		for tag := range strings.SplitSeq(r.URL.Query().Get(haveParameter), ".") {
			have[tag] = true
		}
		st := &stream{server: s, w: w, control: http.NewResponseController(w), have: have}
		err := st.run(r.Context(), v, of)
		if err != nil && r.Context().Err() == nil && !errors.Is(err, errStreamOver) {
			s.log.V(1).Info("A live page ended", "path", r.URL.Path, "reason", err.Error())
		}
	}
}

// errStreamOver says that a stream came to its end by itself.
var errStreamOver = errors.New("the stream is over")

// stream is one open page.
type stream struct {
	server  *Server
	w       http.ResponseWriter
	control *http.ResponseController
	// have are the tags of the fragments that the browser has.
	have map[string]bool
}

func (st *stream) run(ctx context.Context, v *visit, of pageFunc) error {
	s := st.server
	sub := s.topics.subscribe()
	defer s.topics.unsubscribe(sub)
	ticker := s.clock.NewTicker(liveEvery)
	defer ticker.Stop()
	p, err := st.update(ctx, v, of)
	if err != nil {
		return err
	}
	sub.follow(p.follows)
	made, pinged, rest := s.clock.Now(), s.clock.Now(), liveEvery
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C():
		}
		now := s.clock.Now()
		if now.Sub(pinged) >= pingEvery {
			pinged = now
			if !s.sessions.alive(v.session) {
				return errors.Join(errStreamOver, st.send("over", "{}"))
			}
			if err := st.send("ping", "{}"); err != nil {
				return err
			}
		}
		if now.Sub(made) < rest {
			continue
		}
		due := sub.take() || sub.beats() && now.Sub(made) >= beatsEvery || p.every > 0 && now.Sub(made) >= p.every
		if !due {
			continue
		}
		sub.rest()
		if p, err = st.update(ctx, v, of); err != nil {
			return err
		}
		made = s.clock.Now()
		rest = max(liveEvery, restFactor*made.Sub(now))
	}
}

// update makes the page again and sends what differs.
func (st *stream) update(ctx context.Context, v *visit, of pageFunc) (*page, error) {
	s := st.server
	v.now = s.clock.Now()
	p, err := of(ctx, v)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		f := s.explain(err, v.person)
		data, _ := json.Marshal(map[string]string{"text": f.Title + ": " + f.Text}) //nolint:errchkjson // strings encode
		return nil, errors.Join(errStreamOver, st.send("failed", string(data)))
	}
	parts, err := s.render(p)
	if err != nil {
		return nil, err
	}
	now := map[string]bool{}
	for _, part := range parts {
		now[part.ID+"-"+part.Tag] = true
		if part.Still || st.have[part.ID+"-"+part.Tag] {
			continue
		}
		data, err := json.Marshal(map[string]string{"id": part.ID, "tag": part.Tag, "html": string(part.HTML)})
		if err != nil {
			return nil, fmt.Errorf("encoding a fragment: %w", err)
		}
		if err := st.send("fragment", string(data)); err != nil {
			return nil, err
		}
	}
	st.have = now
	return p, nil
}

// send sends one event.
func (st *stream) send(event, data string) error {
	if err := st.control.SetWriteDeadline(st.server.clock.Now().Add(writeTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("bounding a write: %w", err)
	}
	if _, err := fmt.Fprintf(st.w, "event: %s\ndata: %s\n\n", event, data); err != nil {
		return fmt.Errorf("sending an event: %w", err)
	}
	if err := st.control.Flush(); err != nil {
		return fmt.Errorf("sending an event: %w", err)
	}
	return nil
}

// topic is something that changed.
type topic struct {
	// kind is one of the constants below, key names the object.
	kind, key string
}

// Kinds of topics. A lease changes all the time and waits for beatsEvery.
const (
	topicCluster     = "cluster"
	topicLease       = "lease"
	topicApplication = "application"
	topicPolicy      = "policy"
)

// topics tells the streams what changed. It never blocks.
type topics struct {
	mu   sync.Mutex
	subs map[*subscription]bool
	open int
}

func newTopics() *topics { return &topics{subs: map[*subscription]bool{}} }

// enter counts a stream, and says whether there is room for it.
func (t *topics) enter(one *session) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open >= maxStreams || one.streams >= maxStreamsOfOne {
		return false
	}
	t.open++
	one.streams++
	return true
}

func (t *topics) leave(one *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open--
	one.streams--
}

func (t *topics) subscribe() *subscription {
	t.mu.Lock()
	defer t.mu.Unlock()
	sub := &subscription{}
	t.subs[sub] = true
	return sub
}

func (t *topics) unsubscribe(sub *subscription) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.subs, sub)
}

// publish tells everybody whom it concerns.
func (t *topics) publish(one topic) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for sub := range t.subs {
		sub.tell(one)
	}
}

// subscription is what one stream waits for.
type subscription struct {
	mu      sync.Mutex
	follows func(topic) bool
	// changed and beaten are what was told since the last look.
	changed, beaten bool
	// all is what happened before follows was known.
	all bool
}

func (s *subscription) tell(one topic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.follows == nil:
		s.all = true
	case s.changed && s.beaten || !s.follows(one):
	case one.kind == topicLease:
		s.beaten = true
	default:
		s.changed = true
	}
}

// follow says what concerns the stream from now on. What was told before is looked at.
func (s *subscription) follow(what func(topic) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if what == nil {
		what = func(topic) bool { return false }
	}
	s.follows = what
	s.changed = s.all
}

func (s *subscription) take() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

func (s *subscription) beats() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.beaten
}

func (s *subscription) rest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed, s.beaten = false, false
}
