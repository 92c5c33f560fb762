package compression

import (
	"sync"
	"time"
)

const (
	// perUser is how many watches of a user may have a history at a time: an agent has one watch on its Works, and
	// three quiet ones.
	perUser = 4
	// perServer is the limit for all users, which is 32 MiB.
	perServer = 1024
	// calm is how long without an event a history is kept: long enough for most statuses of what was sent to come back.
	calm = time.Minute
	// quiet is the size in bytes up to which an event does not keep a history alive: that of a bookmark, which comes
	// once a minute.
	quiet = 512
)

// budget counts the histories. It is safe for concurrent use.
type budget struct {
	mu    sync.Mutex
	total int
	of    map[string]int
}

// take counts one more, unless a limit is reached.
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

// history is what a watch sent last, against which the next event is compressed. It is used by the watch and a timer.
type history struct {
	budget *budget
	user   string

	mu    sync.Mutex
	sent  []byte
	timer *time.Timer
}

// next calls compress with the history, which may be empty, and adds p to it. A secret is compressed independently, and
// so is what follows it.
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

// keep appends to the history. Nothing may be omitted: deflate refers to earlier data by distance.
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

// end drops the history.
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
