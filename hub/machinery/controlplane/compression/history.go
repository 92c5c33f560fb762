package compression

import (
	"sync"
	"time"
)

const (
	// perUser is how many watches of one user may have a history at a time: an agent has one of its Works, and three that are
	// quiet.
	perUser = 4
	// perServer is how many all may have, which are 32 MiB.
	perServer = 1024
	// calm is after how long without an event a history goes: not before most statuses of what was sent have come back.
	calm = time.Minute
	// quiet is up to how many bytes a piece may have that does not keep a history: those of a bookmark, which comes once a minute.
	quiet = 512
)

// budget counts the histories. It is safe for use by many goroutines.
type budget struct {
	mu    sync.Mutex
	total int
	of    map[string]int
}

// take counts one more, unless there are too many.
func (b *budget) take(user string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.total >= perServer || b.of[user] >= perUser {
		return false
	}
	if b.of == nil {
		b.of = map[string]int{}
	}
	b.total++
	b.of[user]++
	return true
}

// giveBack counts one less.
func (b *budget) giveBack(user string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total--
	if b.of[user]--; b.of[user] == 0 {
		delete(b.of, user)
	}
}

// history keeps what a watch sent last, against which the next event is compressed. The watch and a timer use it.
type history struct {
	budget *budget
	user   string

	mu    sync.Mutex
	sent  []byte
	timer *time.Timer
}

// next calls compress with what was sent last, empty if nothing is kept, and keeps p. What is secret is
// compressed by itself, and so is what comes after it.
func (h *history) next(p []byte, secret bool, compress func(last []byte)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if secret {
		h.drop()
		compress(nil)
		return
	}
	compress(h.sent)
	h.keep(p)
}

// keep adds to what was sent. Nothing may be left out: what deflate refers to it finds by how far back it is.
func (h *history) keep(p []byte) {
	if h.sent == nil {
		if len(p) <= quiet || !h.budget.take(h.user) {
			return
		}
		h.sent = make([]byte, 0, window)
		h.timer = time.AfterFunc(calm, h.end)
	} else if len(p) > quiet {
		h.timer.Reset(calm)
	}
	p = p[max(0, len(p)-window):]
	if over := len(h.sent) + len(p) - window; over > 0 {
		h.sent = h.sent[:copy(h.sent, h.sent[over:])]
	}
	h.sent = append(h.sent, p...)
}

// end forgets what was sent. The next piece begins anew.
func (h *history) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop()
}

func (h *history) drop() {
	if h.sent == nil {
		return
	}
	h.timer.Stop()
	h.sent, h.timer = nil, nil
	h.budget.giveBack(h.user)
}
