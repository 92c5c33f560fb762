package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"
)

// How streams behave.
const (
	// changesEvery is the least time between two looks at what changed.
	changesEvery = time.Second
	// restFactor is how many times longer than making a page takes it is not made again, so
	// that open pages leave the hub its time whatever happens on it; longestRest bounds it,
	// since nobody looks at a page that says Live and is a minute old.
	restFactor  = 20
	longestRest = 10 * time.Second
	// leasesEvery is the same as changesEvery for what changes all the time: heartbeats.
	leasesEvery = 15 * time.Second
	// pingEvery keeps proxies from ending a stream, and tells of sessions that ended.
	pingEvery = 20 * time.Second
	// writeTimeout is how long a browser may take nothing.
	writeTimeout = 20 * time.Second
)

// Have is the parameter of the query with the tags of the fragments that the browser has.
const Have = "have"

// Fragment is a part of a page that is replaced as a whole.
type Fragment struct {
	// ID is unique in the page, Tag differs when the HTML does.
	ID, Tag string
	HTML    template.HTML
	// Still says that it is not replaced: people type into it.
	Still bool
}

// Content is a page as it is now.
type Content struct {
	Fragments []Fragment
	// Follows says whether a topic concerns the page; nil if it stands still.
	Follows func(Topic) bool
	// Every asks the page to be made again after this time even if no topic said so; 0 if
	// it need not be.
	Every time.Duration
}

// Page is a page that somebody has open.
type Page struct {
	// Make makes it. Explain says to its reader why that failed.
	Make    func(ctx context.Context) (Content, error)
	Explain func(error) string
	// Alive says whether the session of its reader has not ended.
	Alive func() bool
}

// errStreamOver says that a stream came to its end by itself.
var errStreamOver = errors.New("the stream is over")

// Serve serves the stream of a page: it sends the fragments that differ from those that the
// browser has, as often as something changes, until the browser goes away. It returns why it
// ended if that was not by itself.
func (t *Topics) Serve(w http.ResponseWriter, r *http.Request, p Page) error {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // proxies must pass each event on at once
	have := map[string]bool{}
	for tag := range strings.SplitSeq(r.URL.Query().Get(Have), ".") {
		have[tag] = true
	}
	st := &stream{topics: t, page: p, w: w, control: http.NewResponseController(w), have: have}
	if err := st.run(r.Context()); r.Context().Err() == nil && !errors.Is(err, errStreamOver) {
		return err
	}
	return nil
}

// stream is one open page.
type stream struct {
	topics  *Topics
	page    Page
	w       http.ResponseWriter
	control *http.ResponseController
	// have are the tags of the fragments that the browser has.
	have map[string]bool
}

func (st *stream) run(ctx context.Context) error {
	// The browser says that it is connected when it has the header, and of a page that stands
	// still no event may come for long.
	if err := st.control.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("opening a stream: %w", err) // it lasts longer than a request; nothing more is read
	}
	if err := st.bounded(st.control.Flush); err != nil {
		return fmt.Errorf("opening a stream: %w", err)
	}
	clock := st.topics.clock
	sub := st.topics.subscribe()
	defer st.topics.unsubscribe(sub)
	ticker := clock.NewTicker(changesEvery)
	defer ticker.Stop()
	c, err := st.update(ctx)
	if err != nil {
		return err
	}
	sub.follow(c.Follows)
	made, pinged, rest := clock.Now(), clock.Now(), changesEvery
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C():
		}
		now := clock.Now()
		if now.Sub(pinged) >= pingEvery {
			pinged = now
			if !st.page.Alive() {
				return errors.Join(errStreamOver, st.send("over", "{}"))
			}
			if err := st.send("ping", "{}"); err != nil {
				return err
			}
		}
		if now.Sub(made) < rest {
			continue
		}
		due := sub.take() || sub.leases() && now.Sub(made) >= leasesEvery || c.Every > 0 && now.Sub(made) >= c.Every
		if !due {
			continue
		}
		sub.rest()
		if c, err = st.update(ctx); err != nil {
			return err
		}
		made = clock.Now()
		rest = min(max(changesEvery, restFactor*made.Sub(now)), longestRest)
	}
}

// update makes the page again and sends what differs.
func (st *stream) update(ctx context.Context) (Content, error) {
	c, err := st.page.Make(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return c, ctx.Err()
		}
		data, _ := json.Marshal(map[string]string{"text": st.page.Explain(err)}) //nolint:errchkjson // strings encode
		return c, errors.Join(errStreamOver, st.send("failed", string(data)))
	}
	now := map[string]bool{}
	for _, part := range c.Fragments {
		now[part.ID+"-"+part.Tag] = true
		if part.Still || st.have[part.ID+"-"+part.Tag] {
			continue
		}
		data, err := json.Marshal(map[string]string{"id": part.ID, "tag": part.Tag, "html": string(part.HTML)})
		if err != nil {
			return c, fmt.Errorf("encoding a fragment: %w", err)
		}
		if err := st.send("fragment", string(data)); err != nil {
			return c, err
		}
	}
	st.have = now
	return c, nil
}

// send sends one event.
func (st *stream) send(event, data string) error {
	err := st.bounded(func() error {
		if _, err := fmt.Fprintf(st.w, "event: %s\ndata: %s\n\n", event, data); err != nil {
			return err
		}
		return st.control.Flush()
	})
	if err != nil {
		return fmt.Errorf("sending an event: %w", err)
	}
	return nil
}

// bounded sends something in bounded time. Between two events there is no bound: over HTTP/2 a deadline that passes ends a stream even
// if nothing is being sent.
func (st *stream) bounded(send func() error) error {
	err := st.control.SetWriteDeadline(st.topics.clock.Now().Add(writeTimeout))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("bounding a write: %w", err)
	}
	if err := send(); err != nil {
		return err
	}
	if err == nil {
		err = st.control.SetWriteDeadline(time.Time{})
	}
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("ending the bound of a write: %w", err)
	}
	return nil
}
