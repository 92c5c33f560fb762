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

// Timing of streams.
const (
	// changesEvery is the least time between two updates of a page.
	changesEvery = time.Second
	// restFactor is the least pause after rendering a page, as a multiple of the time that rendering took, so that open pages leave the hub
	// time for its work. longestRest bounds the pause, so that a page marked as live is never a minute old.
	restFactor  = 20
	longestRest = 10 * time.Second
	// leasesEvery is changesEvery for heartbeats, which change all the time.
	leasesEvery = 15 * time.Second
	// pingEvery keeps proxies from closing a stream, and bounds how long a stream outlives its session.
	pingEvery = 20 * time.Second
	// writeTimeout is how long a browser may accept no data.
	writeTimeout = 20 * time.Second
)

// Have is the query parameter with the tags of the fragments that the browser has.
const Have = "have"

// Fragment is a part of a page that is replaced as a whole.
type Fragment struct {
	// ID is unique in the page. Tag is a hash of the HTML.
	ID, Tag string
	HTML    template.HTML
	// Still says that the fragment is not replaced, since people type into it.
	Still bool
}

// Content is the present content of a page.
type Content struct {
	Fragments []Fragment
	// Follows says whether a topic concerns the page; nil if none does.
	Follows func(Topic) bool
	// Every is the interval at which the page is rendered again even without a change; 0 if it need not be.
	Every time.Duration
}

// Page is an open page.
type Page struct {
	// Make renders the page. Explain turns its error into a text for the reader.
	Make    func(ctx context.Context) (Content, error)
	Explain func(error) string
	// Alive says whether the reader's session has not ended.
	Alive func() bool
}

// errStreamOver says that a stream ended in the normal way.
var errStreamOver = errors.New("the stream is over")

// Serve serves the stream of a page: it sends the fragments that differ from those of the browser after each change, until the browser
// disconnects. It returns an error if the stream ended for another reason.
func (t *Topics) Serve(w http.ResponseWriter, r *http.Request, p Page) error {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // proxies must not buffer
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

// stream is the stream of one open page.
type stream struct {
	topics  *Topics
	page    Page
	w       http.ResponseWriter
	control *http.ResponseController
	// have has the tags of the fragments in the browser.
	have map[string]bool
}

func (st *stream) run(ctx context.Context) error {
	// Send the headers at once, so that the browser counts as connected: the first event may come late.
	if err := st.control.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("opening a stream: %w", err) // a stream lasts longer than a request, and reads nothing more
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

// update renders the page and sends the fragments that differ.
func (st *stream) update(ctx context.Context) (Content, error) {
	c, err := st.page.Make(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return c, ctx.Err()
		}
		data, _ := json.Marshal(map[string]string{"text": st.page.Explain(err)}) //nolint:errchkjson // strings always encode
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

// bounded sets a deadline while something is sent, and clears it afterwards: over HTTP/2 a deadline that passes ends a stream even if
// nothing is being sent.
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
