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
	// greetedAtOnce is how many handshakes a server does at a time per processor. Until its first response, a
	// connection costs half a millisecond of an otherwise idle processor.
	greetedAtOnce = 4
	// helloTimeout is how long a client may take to send its hello, the same as API servers wait for a request.
	// helloUsual is the usual maximum of its size in bytes: a little more than one packet.
	helloTimeout = 30 * time.Second
	helloUsual   = 2 << 10
	// A TLS record starts with its type, its version and its length, which is at most recordMost.
	recordHeader    = 5
	recordHandshake = 22
	recordMost      = 16<<10 + 256
	// longestWait is how long a connection waits for its handshake. Kubernetes clients give up after ten seconds, and a
	// handshake with a client that is gone is wasted.
	longestWait = 8 * time.Second
	// keepAlive is the idle time after which a connection is probed, the same as for API servers.
	keepAlive = 3 * time.Minute
	// logEvery is the shortest interval between log entries about closed connections.
	logEvery = 10 * time.Second
)

// queue holds connections until the server has time for their handshake.
//
// When thousands of agents reconnect, a server that takes all of them at once serves none in time: each handshake
// progresses a little, times out and is started again, for as long as they keep coming. So there are only a few
// handshakes at a time; on a busy machine each takes longer, which slows the pace. The newest connection goes first,
// since its client will wait for the longest; a person who connects in between is served at once. A connection that has
// waited too long is closed, and its client tries again. The order is that of "Fail at Scale" (B. Maurer, ACM Queue
// 13/8, 2015), where it is called adaptive LIFO.
//
// A connection counts from when its client has sent its hello until the server responds or waits for more input, so
// slow or silent clients block nobody. What the server computes afterwards, such as authentication, is not counted.
type queue struct {
	clock clock.Clock
	// most is how many handshakes may run at a time.
	most int
	// hand passes a connection to the server, and says whether the server took it.
	hand func(net.Conn) bool

	mu sync.Mutex
	// silent are connections whose clients have not sent anything yet, and waiting those that wait for their handshake,
	// in the order of their hellos.
	silent  silentConns
	waiting []*queued
	// greeting is the number of running handshakes.
	greeting int
	closed   bool
	// expired is how many connections were closed since the last log entry about it, at logged.
	expired int
	logged  time.Time
	// ended is how many silent connections were closed since the last log entry about it, at told.
	ended int
	told  time.Time
}

func newQueue(c clock.Clock, hand func(net.Conn) bool) *queue {
	return &queue{clock: c, most: greetedAtOnce * runtime.GOMAXPROCS(0), hand: hand, silent: silentConns{most: silentMost, from: map[netip.Prefix]map[net.Conn]uint64{}}}
}

// add handles a connection, and returns when it was passed to the server, waits, or is closed.
func (q *queue) add(conn net.Conn) {
	if !q.listens(conn) {
		_ = conn.Close() // the listener is closed
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetKeepAlivePeriod(keepAlive) // fails only for a closed connection
	}
	_ = conn.SetReadDeadline(time.Now().Add(helloTimeout)) // real time, as for all deadlines of connections
	hello, err := readHello(conn)
	q.mu.Lock()
	q.silent.remove(conn)
	q.mu.Unlock()
	if err != nil || conn.SetReadDeadline(time.Time{}) != nil {
		_ = conn.Close() // nobody to report the error to
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

// readHello reads a client's first message: for TLS the whole first record, since the server waits for that before it
// computes.
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
	if n >= whole || whole > recordHeader+recordMost { // a longer one is not TLS, which the server will report
		return said[:n], nil
	}
	all := bytes.NewBuffer(said[:n]) // grows with the data, so announcing a large record costs nothing
	_, err = io.CopyN(all, conn, int64(whole-n))
	return all.Bytes(), err
}

// listens adds a connection to the silent ones, unless the queue is closed. If there are too many, it closes others.
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
		_ = other.Close() // nobody to report the error to
	}
	if closed > 0 {
		klog.InfoS("Too many connect to the API server and say nothing: it closed the oldest connections of the network that has most of them", "closed", closed, "network", of)
	}
	return true
}

// admitNext starts the handshake of the newest connection, since another handshake has ended.
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
		_ = conn.Close() // the listener is closed
	}
}

// expire closes connections that waited too long. It returns how many were closed since the last log entry; 0 if that
// was recent. The caller holds the lock.
func (q *queue) expire() (closed int) {
	now := q.clock.Now()
	old := 0
	for old < len(q.waiting) && now.Sub(q.waiting[old].since) > longestWait {
		_ = q.waiting[old].Conn.Close() // nobody to report the error to
		old++
	}
	q.waiting = slices.Delete(q.waiting, 0, old)
	q.expired += old
	if q.expired > 0 && now.Sub(q.logged) >= logEvery {
		closed, q.expired, q.logged = q.expired, 0, now
	}
	return closed
}

// log logs that connections were closed. The caller must not hold the lock, since logging may be slow.
func (q *queue) log(closed int) {
	if closed > 0 {
		klog.InfoS("The API server is too busy for all who come: it closed connections that waited, whose clients come again", "closed", closed)
	}
}

// close closes the connections that were not passed to the server.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, conn := range q.silent.all() {
		_ = conn.Close() // the listener is closed
	}
	for _, w := range q.waiting {
		_ = w.Conn.Close()
	}
	q.waiting = nil
}

// queued is a connection whose client has sent its hello.
type queued struct {
	net.Conn

	// hello is what the server has not read yet of the client's hello, and since is when it came.
	hello []byte
	since time.Time
	// release is called when the server responds, waits for more input, or closes the connection. It may be called
	// repeatedly.
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
