package line

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// Of the frames of HTTP/2 (RFC 9113).
const (
	frameHeader = 9
	// frameMost is the most that a frame carries, in bytes, both ways: the least that HTTP/2 allows. A client holds a buffer of that
	// size for each body that it sends.
	frameMost = 16 << 10

	typeSettings     = 4
	typeGoAway       = 7
	typeContinuation = 9 // the highest that there is
	codeNoError      = 0
	goAwayHead       = 8 // the last stream and the code
	flagAck          = 1
	settingSize      = 6 // which it is, and its value
	settingFrameSize = 5
)

// watched is the connection under a Client. It follows the frames that come in, since the client of net/http does not tell of a
// goodbye, and since it writes to the standard error about each frame that it does not know.
type watched struct {
	net.Conn
	goodbye func()
	reading atomic.Bool
	silent  atomic.Bool // closed while it was read from, by net/http: a ping was not answered

	mu    sync.Mutex
	cause error // of the end, as far as reading met it
	once  sync.Once
	ended chan struct{}

	// What follows is of the goroutine that reads.
	head    [frameHeader]byte
	headLen int
	begun   bool // a first frame was seen
	left    int  // of the payload of this frame
	kind    byte // of this frame
	ack     bool
	part    []byte // of its payload, as much of it as one look takes
}

func watch(conn net.Conn, goodbye func()) *watched {
	return &watched{Conn: conn, goodbye: goodbye, ended: make(chan struct{})}
}

// Read implements net.Conn.
func (w *watched) Read(p []byte) (int, error) {
	w.reading.Store(true)
	n, err := w.Conn.Read(p)
	w.reading.Store(false)
	if wrong := w.follow(p[:n]); wrong != nil {
		n, err = 0, wrong
	}
	if err != nil {
		w.because(err)
	}
	return n, err
}

// Close implements net.Conn. It is called whenever the line ends, whatever the reason.
func (w *watched) Close() error {
	w.once.Do(func() {
		w.silent.Store(w.reading.Load() && w.reason() == nil)
		defer close(w.ended)
	})
	return w.Conn.Close()
}

// because remembers the first reason.
func (w *watched) because(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cause == nil {
		w.cause = err
	}
}

// reason is why reading ended; nil if it did not end by itself.
func (w *watched) reason() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if errors.Is(w.cause, io.EOF) {
		return errors.New("the other end closed the connection without a goodbye")
	}
	return w.cause
}

// follow goes through what came in.
func (w *watched) follow(p []byte) error {
	for len(p) > 0 {
		if w.left > 0 {
			n := min(w.left, len(p))
			if err := w.payload(p[:n]); err != nil {
				return err
			}
			w.left -= n
			p = p[n:]
			continue
		}
		n := copy(w.head[w.headLen:], p)
		w.headLen += n
		p = p[n:]
		if w.headLen < frameHeader {
			return nil
		}
		w.headLen = 0
		if err := w.frame(); err != nil {
			return err
		}
	}
	return nil
}

// frame begins a frame whose head is complete.
func (w *watched) frame() error {
	kind := w.head[3]
	w.left = int(w.head[0])<<16 | int(w.head[1])<<8 | int(w.head[2])
	switch {
	case !w.begun && kind != typeSettings:
		return errors.New("the other end does not speak HTTP/2")
	case kind > typeContinuation:
		return fmt.Errorf("the other end sent a frame of the unknown type %d", kind)
	case w.left > frameMost:
		return fmt.Errorf("the other end sent a frame of %d bytes, and %d are the most", w.left, frameMost)
	}
	w.begun, w.kind, w.ack, w.part = true, kind, w.head[4]&flagAck != 0, w.part[:0]
	return nil
}

// payload takes a part of the payload of a frame.
func (w *watched) payload(p []byte) error {
	switch {
	case w.kind == typeGoAway && len(w.part) < goAwayHead:
		if w.fill(p, goAwayHead); len(w.part) == goAwayHead {
			w.goAway()
		}
	case w.kind == typeSettings && !w.ack:
		for len(p) > 0 {
			if p = w.fill(p, settingSize); len(w.part) < settingSize {
				return nil
			}
			if err := checkSetting(binary.BigEndian.Uint16(w.part), binary.BigEndian.Uint32(w.part[2:])); err != nil {
				return err
			}
			w.part = w.part[:0]
		}
	}
	return nil
}

// fill adds to the part that is looked at until it is as long as that, and returns what is left.
func (w *watched) fill(p []byte, size int) []byte {
	n := min(len(p), size-len(w.part))
	w.part = append(w.part, p[:n]...)
	return p[n:]
}

func (w *watched) goAway() {
	if code := binary.BigEndian.Uint32(w.part[4:]); code != codeNoError {
		w.because(fmt.Errorf("the other end gave up with the HTTP/2 error %d", code))
		return
	}
	w.goodbye()
}

// checkSetting refuses to hold more for each body that is sent than is meant: the client of net/http takes a buffer as large as the
// frames that the other end says it takes, up to 512 KiB.
func checkSetting(id uint16, value uint32) error {
	if id == settingFrameSize && value > frameMost {
		return fmt.Errorf("the other end would take frames of %d bytes, and %d are the most", value, frameMost)
	}
	return nil
}
