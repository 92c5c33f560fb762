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

// Constants of HTTP/2 frames (RFC 9113).
const (
	frameHeader = 9
	// frameMost bounds the payload of frames in both directions, in bytes: the minimum that HTTP/2 allows. A client
	// holds a buffer of that size per body being sent.
	frameMost = 16 << 10

	typeSettings     = 4
	typeGoAway       = 7
	typeContinuation = 9 // the highest type
	codeNoError      = 0
	goAwayHead       = 8 // last stream ID and error code
	flagAck          = 1
	settingSize      = 6 // identifier and value
	settingFrameSize = 5
)

// watched is the connection below a Client. It parses incoming frames, since net/http's client does not report a
// GOAWAY, and writes to stderr about each frame type that it does not know.
type watched struct {
	net.Conn
	goodbye func()
	reading atomic.Bool
	silent  atomic.Bool // closed by net/http during a read: a ping was not answered

	mu    sync.Mutex
	cause error // the read error that ended it, if any
	once  sync.Once
	ended chan struct{}

	// The fields below belong to the reading goroutine.
	head    [frameHeader]byte
	headLen int
	begun   bool // a first frame was seen
	left    int  // of the payload of this frame
	kind    byte // of this frame
	ack     bool
	part    []byte // the part of the payload that is evaluated at once
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

// Close implements net.Conn. It is called when the line ends, whatever the reason.
func (w *watched) Close() error {
	w.once.Do(func() {
		w.silent.Store(w.reading.Load() && w.reason() == nil)
		defer close(w.ended)
	})
	return w.Conn.Close()
}

// because records the first reason.
func (w *watched) because(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cause == nil {
		w.cause = err
	}
}

// reason returns why reading ended; nil if it did not end by itself.
func (w *watched) reason() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if errors.Is(w.cause, io.EOF) {
		return errors.New("the other end closed the connection without a goodbye")
	}
	return w.cause
}

// follow parses received bytes.
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

// frame handles a complete frame header.
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

// payload handles a part of a frame's payload.
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

// fill extends the evaluated part up to a size, and returns the rest.
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

// checkSetting refuses settings that would make this end hold larger buffers per body: net/http's client allocates a
// buffer of the maximum frame size that the other end accepts, up to 512 KiB.
func checkSetting(id uint16, value uint32) error {
	if id == settingFrameSize && value > frameMost {
		return fmt.Errorf("the other end would take frames of %d bytes, and %d are the most", value, frameMost)
	}
	return nil
}
