package listener

import (
	"errors"
	"fmt"
	"net"
	"sync"

	"k8s.io/utils/clock"
)

// Listener accepts connections at both addresses. Its Addr is the private one, at which the API server connects to
// itself.
type Listener struct {
	private  net.Listener
	reserved *Reserved
	// queue has the connections at the public address.
	queue *queue

	accepted chan accepted
	done     chan struct{}
	close    sync.Once

	mu     sync.Mutex
	public net.Listener // nil until it is open
	closed bool
}

// accepted is the result of one Accept.
type accepted struct {
	conn net.Conn
	err  error
}

// New returns a listener at a private address, and at a reserved public one once open is closed. It closes both.
func New(private net.Listener, public *Reserved, open <-chan struct{}) *Listener {
	l := &Listener{private: private, reserved: public, accepted: make(chan accepted), done: make(chan struct{})}
	l.queue = newQueue(clock.RealClock{}, func(conn net.Conn) bool { return l.pass(accepted{conn: conn}) })
	go l.accept(private, func(conn net.Conn) bool { return l.pass(accepted{conn: conn}) })
	go func() {
		select {
		case <-l.done:
			return
		case <-open:
		}
		opened, err := l.open()
		if err != nil {
			l.pass(accepted{err: err})
			return
		}
		l.accept(opened, func(conn net.Conn) bool {
			go l.queue.add(conn)
			return true
		})
	}()
	return l
}

// open starts to listen at the public address.
func (l *Listener) open() (net.Listener, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, net.ErrClosed
	}
	public, err := l.reserved.listen()
	if err != nil {
		return nil, fmt.Errorf("listening at %s: %w", l.reserved.address, err)
	}
	l.public = public
	return public, nil
}

// accept passes on the connections at one address.
func (l *Listener) accept(at net.Listener, hand func(net.Conn) bool) {
	for {
		conn, err := at.Accept()
		switch {
		case err != nil:
			if !l.pass(accepted{err: err}) {
				return
			}
		case !hand(conn):
			_ = conn.Close() // the listener is closed
			return
		}
	}
}

// pass says whether the result was accepted.
func (l *Listener) pass(a accepted) bool {
	select {
	case l.accepted <- a:
		return true
	case <-l.done:
		return false
	}
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case a := <-l.accepted:
		return a.conn, a.err
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *Listener) Close() error {
	err := net.ErrClosed
	l.close.Do(func() {
		close(l.done)
		l.queue.close()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.closed = true
		public := l.reserved.release
		if l.public != nil {
			public = l.public.Close
		}
		err = errors.Join(l.private.Close(), public())
	})
	return err
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return l.private.Addr() }

// Public returns the listener with the public address as its Addr, for what the API server announces.
func (l *Listener) Public() net.Listener { return public{l} }

type public struct{ *Listener }

// Addr implements net.Listener.
func (p public) Addr() net.Addr { return p.reserved.address }
