package listener

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// greetedAtOnce is how many connections a server greets at a time for each processor. What it does for one until its first
	// answer takes half a millisecond of a processor that has nothing else to do.
	greetedAtOnce = 4
	// helloTimeout is how long a client may take to say hello, as long as API servers wait for a request, and helloUsual how many bytes that
	// usually is at most: a little more than one packet.
	helloTimeout = 30 * time.Second
	helloUsual   = 2 << 10
	// A record of TLS begins with its type and version, and how many bytes follow, at most so many.
	recordHeader    = 5
	recordHandshake = 22
	recordMost      = 16<<10 + 256
	// longestWait is how long a connection waits to be greeted. Clients of Kubernetes give up after ten seconds, and what is
	// calculated for one that is gone is lost.
	longestWait = 8 * time.Second
	// keepAlive is after how long of silence a connection is probed, as API servers have it.
	keepAlive = 3 * time.Minute
	// logEvery is how often it is logged at most that connections are closed.
	logEvery = 10 * time.Second
)

// queue holds connections until the server has time to greet them.
//
// A server that takes all at once answers none in time when thousands of agents come back: each greeting is calculated a little, runs out
// of time and is begun anew, for as long as they all come. So there are few greetings at a time, whose number a busy machine turns into a
// pace: what else is calculated makes each take longer. Who came last is greeted first, as its client waits the longest from now on; a
// person who comes in between is served at once. Who waited too long is closed, and comes again.
// The order is that of "Fail at Scale" (B. Maurer, ACM Queue 13/8, 2015), where it is called adaptive LIFO.
//
// A connection counts from when its client has said hello until the server answers that or waits for more, so that clients that are slow or
// silent keep nobody out. What the server calculates afterwards, such as whose certificate that is, is not counted.
type queue struct {
	clock clock.Clock
	// most is how many are greeted at a time.
	most int
	// hand gives a connection to the server, and says whether that took it.
	hand func(net.Conn) bool

	mu sync.Mutex
	// silent are connections whose clients have not spoken yet, and waiting those that are to be greeted, in the order in which their clients
	// spoke.
	silent  silentConns
	waiting []*queued
	// greeting is how many are greeted now.
	greeting int
	closed   bool
	// expired is how many were closed since that was last logged, at logged.
	expired int
	logged  time.Time
	// ended is how many silent ones were closed since that was last logged, at told.
	ended int
	told  time.Time
}

func newQueue(c clock.Clock, hand func(net.Conn) bool) *queue {
	return &queue{clock: c, most: greetedAtOnce * runtime.GOMAXPROCS(0), hand: hand, silent: silentConns{most: silentMost, from: map[netip.Prefix]map[net.Conn]uint64{}}}
}

// add takes a connection on, and returns when it was given to the server, waits to be, or is closed.
func (q *queue) add(conn net.Conn) {
	if !q.listens(conn) {
		_ = conn.Close() // nobody is there any more
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetKeepAlivePeriod(keepAlive) // that of a connection that has ended is of no use
	}
	_ = conn.SetReadDeadline(time.Now().Add(helloTimeout)) // in real time, as those of connections are
	hello, err := readHello(conn)
	q.mu.Lock()
	q.silent.remove(conn)
	q.mu.Unlock()
	if err != nil || conn.SetReadDeadline(time.Time{}) != nil {
		_ = conn.Close() // there is nobody to tell
		return
	}
	next := &queued{Conn: conn, hello: hello, since: q.clock.Now(), release: sync.OnceFunc(q.admitNext)}
	q.mu.Lock()
	waits := q.greeting >= q.most && !q.closed
	if waits {
		q.waiting = append(q.waiting, next)
		defer q.log(q.expire())
	} else {
		q.greeting++
	}
	q.mu.Unlock()
	if !waits {
		q.admit(next)
	}
}

// readHello reads what a client says first: of TLS all of the first record, since the server waits for that before it calculates.
func readHello(conn net.Conn) ([]byte, error) {
	said := make([]byte, helloUsual)
	n, err := io.ReadAtLeast(conn, said, 1)
	if err != nil || said[0] != recordHandshake {
		return said[:n], err
	}
	if n < recordHeader {
		more, err := io.ReadAtLeast(conn, said[n:], recordHeader-n)
		if n += more; err != nil {
			return nil, err
		}
	}
	whole := recordHeader + int(binary.BigEndian.Uint16(said[recordHeader-2:recordHeader]))
	if n >= whole || whole > recordHeader+recordMost { // what is longer is no TLS, as the server will say
		return said[:n], nil
	}
	all := bytes.NewBuffer(said[:n]) // which grows as it comes: who announces much and sends nothing costs no more
	_, err = io.CopyN(all, conn, int64(whole-n))
	return all.Bytes(), err
}

// listens notes that a connection is to speak, unless the queue is closed. If there are too many, it closes others.
func (q *queue) listens(conn net.Conn) bool {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return false
	}
	ended, of := q.silent.add(conn)
	q.ended += len(ended)
	closed := 0
	if now := q.clock.Now(); q.ended > 0 && now.Sub(q.told) >= logEvery {
		closed, q.ended, q.told = q.ended, 0, now
	}
	q.mu.Unlock()
	for _, other := range ended {
		_ = other.Close() // there is nobody to tell
	}
	if closed > 0 {
		klog.InfoS("Too many connect to the API server and say nothing: it closed the oldest connections of the network that has most of them", "closed", closed, "network", of)
	}
	return true
}

// admitNext has the connection greeted that came last, since another one is.
func (q *queue) admitNext() {
	q.mu.Lock()
	closed := q.expire()
	if last := len(q.waiting) - 1; last >= 0 {
		go q.admit(q.waiting[last])
		q.waiting = slices.Delete(q.waiting, last, last+1)
	} else {
		q.greeting--
	}
	q.mu.Unlock()
	q.log(closed)
}

func (q *queue) admit(conn *queued) {
	if !q.hand(conn) {
		_ = conn.Close() // nobody is there any more
	}
}

// expire closes the connections that waited too long, and returns how many there were since it returned any; 0 if that was a moment ago. The
// lock is held.
func (q *queue) expire() (closed int) {
	now := q.clock.Now()
	old := 0
	for old < len(q.waiting) && now.Sub(q.waiting[old].since) > longestWait {
		_ = q.waiting[old].Conn.Close() // there is nobody to tell
		old++
	}
	q.waiting = slices.Delete(q.waiting, 0, old)
	q.expired += old
	if q.expired > 0 && now.Sub(q.logged) >= logEvery {
		closed, q.expired, q.logged = q.expired, 0, now
	}
	return closed
}

// log says that connections were closed. The lock is not held: a log may be slow.
func (q *queue) log(closed int) {
	if closed > 0 {
		klog.InfoS("The API server is too busy for all who come: it closed connections that waited, whose clients come again", "closed", closed)
	}
}

// close closes what the server does not have yet.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, conn := range q.silent.all() {
		_ = conn.Close() // nobody is there any more
	}
	for _, w := range q.waiting {
		_ = w.Conn.Close()
	}
	q.waiting = nil
}

// queued is a connection whose client has said hello.
type queued struct {
	net.Conn

	// hello has the bytes of the client's hello that the server has not read yet, and since when.
	hello []byte
	since time.Time
	// release is called as soon as the server answers, waits for more, or closes the connection. It may be called often.
	release func()
}

// Read implements net.Conn.
func (q *queued) Read(p []byte) (int, error) {
	if len(q.hello) == 0 {
		q.hello = nil
		q.release()
		return q.Conn.Read(p)
	}
	n := copy(p, q.hello)
	q.hello = q.hello[n:]
	return n, nil
}

// Write implements net.Conn.
func (q *queued) Write(p []byte) (int, error) {
	q.release()
	return q.Conn.Write(p)
}

// Close implements net.Conn.
func (q *queued) Close() error {
	q.release()
	return q.Conn.Close()
}
