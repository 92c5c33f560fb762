package listener

import (
	"net"
	"runtime"
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// answeredAtOnce is how many connections a server greets at a time for each processor. What it does for one until it has to
	// wait for the client takes half a millisecond of a processor that has nothing else to do.
	answeredAtOnce = 4
	// firstWordPatience is how long a client may take to say its first word, and firstWord how long that is at most, in bytes.
	firstWordPatience = 30 * time.Second
	firstWord         = 2 << 10
	// longestWait is how long a connection waits to be greeted. Clients of Kubernetes give up after ten seconds, and what is
	// calculated for one that is gone is lost.
	longestWait = 8 * time.Second
	// keepAlive is how often a silent connection is probed, as API servers do it.
	keepAlive = 3 * time.Minute
	// sayEvery is how often it is said at most that connections are closed.
	sayEvery = 10 * time.Second
)

// queue holds connections until the server has time to greet them.
//
// A server that takes all at once answers none in time when thousands of agents come back: each greeting is calculated a little, runs out
// of time and is begun anew, for as long as they all come. So there are few greetings at a time, whose number a busy machine turns into a
// pace: what else is calculated makes each take longer. Who came last is greeted first, as its client waits the longest from now on; a
// person who comes in between is served at once. Who waited too long is closed, and comes again.
// The order is that of "Fail at Scale" (B. Maurer, ACM Queue 13/8, 2015), where it is called adaptive LIFO.
//
// A connection is not held until its client has spoken, nor any longer than the server calculates with what it said, so that clients that
// are slow or silent keep nobody out.
type queue struct {
	clock clock.Clock
	// most is how many are greeted at a time.
	most int
	// hand gives a connection to the server, and says whether that took it.
	hand func(net.Conn) bool

	mu sync.Mutex
	// silent are connections whose clients have not spoken yet, and waiting those that are to be greeted, in the order in which their clients
	// spoke.
	silent  map[net.Conn]struct{}
	waiting []*queued
	// greeting is how many are greeted now.
	greeting int
	closed   bool
	// expired is how many were closed since that was last said, at said.
	expired int
	said    time.Time
}

func newQueue(c clock.Clock, hand func(net.Conn) bool) *queue {
	return &queue{clock: c, most: answeredAtOnce * runtime.GOMAXPROCS(0), hand: hand, silent: map[net.Conn]struct{}{}}
}

// add takes a connection on, and returns when it was given to the server, waits to be, or is closed.
func (q *queue) add(conn net.Conn) {
	if !q.listens(conn) {
		_ = conn.Close() // nobody is there any more
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetKeepAlivePeriod(keepAlive) // a connection that ends is noticed when it is read
	}
	said := make([]byte, firstWord)
	_ = conn.SetReadDeadline(time.Now().Add(firstWordPatience))
	n, err := conn.Read(said)
	q.mu.Lock()
	delete(q.silent, conn)
	q.mu.Unlock()
	if err != nil || conn.SetReadDeadline(time.Time{}) != nil {
		_ = conn.Close() // there is nobody to tell
		return
	}
	next := &queued{Conn: conn, said: said[:n], since: q.clock.Now()}
	next.answered = sync.OnceFunc(q.next)
	q.mu.Lock()
	waits := q.greeting >= q.most && !q.closed
	if waits {
		q.waiting = append(q.waiting, next)
		q.expire()
	} else {
		q.greeting++
	}
	q.mu.Unlock()
	if !waits {
		q.give(next)
	}
}

// listens notes that a connection is to speak, unless the queue is closed.
func (q *queue) listens(conn net.Conn) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.silent[conn] = struct{}{}
	}
	return !q.closed
}

// next has the connection greeted that came last, since another one is.
func (q *queue) next() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.expire()
	last := len(q.waiting) - 1
	if last < 0 {
		q.greeting--
		return
	}
	next := q.waiting[last]
	q.waiting = slices.Delete(q.waiting, last, last+1)
	go q.give(next)
}

func (q *queue) give(conn *queued) {
	if !q.hand(conn) {
		_ = conn.Close() // nobody is there any more
	}
}

// expire closes the connections that waited too long. The lock is held.
func (q *queue) expire() {
	now := q.clock.Now()
	old := 0
	for old < len(q.waiting) && now.Sub(q.waiting[old].since) > longestWait {
		_ = q.waiting[old].Conn.Close() // there is nobody to tell
		old++
	}
	q.waiting = slices.Delete(q.waiting, 0, old)
	q.expired += old
	if q.expired > 0 && now.Sub(q.said) >= sayEvery {
		klog.InfoS("The API server is too busy for all who come: it closed those that waited, which come again", "closed", q.expired, "waiting", len(q.waiting))
		q.expired, q.said = 0, now
	}
}

// close closes what the server does not have yet.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for conn := range q.silent {
		_ = conn.Close() // nobody is there any more
	}
	for _, w := range q.waiting {
		_ = w.Conn.Close()
	}
	q.waiting = nil
}

// queued is a connection whose client has spoken.
type queued struct {
	net.Conn

	// said is what the client said and the server has not read yet, since when.
	said  []byte
	since time.Time
	// answered is called as soon as the server answers, waits for more, or closes the connection. It may be called often.
	answered func()
}

// Read implements net.Conn.
func (q *queued) Read(p []byte) (int, error) {
	if len(q.said) == 0 {
		q.said = nil
		q.answered()
		return q.Conn.Read(p)
	}
	n := copy(p, q.said)
	q.said = q.said[n:]
	return n, nil
}

// Write implements net.Conn.
func (q *queued) Write(p []byte) (int, error) {
	q.answered()
	return q.Conn.Write(p)
}

// Close implements net.Conn.
func (q *queued) Close() error {
	q.answered()
	return q.Conn.Close()
}
