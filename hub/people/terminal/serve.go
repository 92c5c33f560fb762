package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/utils/clock"
)

// Limits of a terminal.
const (
	// maxMessage is the longest message of a browser; the page splits pasted text.
	maxMessage = 64 << 10
	// lookEvery is how often the session is checked, and pingEvery how often the browser is pinged.
	lookEvery = 2 * time.Second
	pingEvery = 20 * time.Second
	// silence is how long a browser may send nothing, and writeTimeout how long it may not read.
	silence      = time.Minute
	writeTimeout = 20 * time.Second
	bufferSize   = 16 << 10
	maxSide      = 1000
)

// Ends are the ends of a terminal that the command uses.
type Ends struct {
	In    io.Reader
	Out   io.Writer
	Sizes remotecommand.TerminalSizeQueue
}

// Options are the settings of a terminal.
type Options struct {
	// Secure says that the page is served over TLS.
	Secure bool
	Clock  clock.WithTicker
	// Run runs the command until it or the context ends, and returns in words how it ended.
	Run func(ctx context.Context, e Ends) string
	// Alive says whether the person's session is active; Used is called when the person types.
	Alive func() bool
	Used  func()
}

// errSessionOver says that the person's session has ended.
var errSessionOver = errors.New("you are not signed in any more")

// Serve runs a command in a browser's terminal. It returns when both ends have finished.
func Serve(w http.ResponseWriter, r *http.Request, o Options) {
	up := websocket.Upgrader{
		ReadBufferSize: bufferSize, WriteBufferSize: bufferSize, HandshakeTimeout: writeTimeout,
		CheckOrigin: func(r *http.Request) bool { return SameOrigin(r, o.Secure) },
	}
	conn, err := up.Upgrade(w, r, nil)
	if err != nil {
		return // the upgrader has sent an error response
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	in, typed := io.Pipe()
	t := &terminal{Options: o, conn: conn, typed: typed, sizes: make(chan remotecommand.TerminalSize, 1), ctx: ctx, cancel: cancel}
	var group sync.WaitGroup
	group.Go(t.read)
	group.Go(t.watch)
	end := o.Run(ctx, Ends{In: in, Out: t, Sizes: t})
	if errors.Is(context.Cause(ctx), errSessionOver) {
		end = "You are not signed in any more."
	}
	t.finish(end)
	cancel(nil)
	_ = in.Close() // further input is discarded
	_ = conn.Close()
	group.Wait()
}

// terminal is an open terminal.
type terminal struct {
	Options
	conn   *websocket.Conn
	typed  *io.PipeWriter
	sizes  chan remotecommand.TerminalSize
	ctx    context.Context //nolint:containedctx // A terminal lasts for one call.
	cancel context.CancelCauseFunc
	// writing serializes writes, as a WebSocket requires.
	writing sync.Mutex
}

// size is the browser's message about a new size of its terminal.
type size struct {
	Columns uint16 `json:"columns"`
	Rows    uint16 `json:"rows"`
}

// read passes on the input until the browser disconnects.
func (t *terminal) read() {
	defer t.cancel(errors.New("the browser is gone"))
	defer func() { _ = t.typed.Close() }() // tells the command that there is no more input
	t.conn.SetReadLimit(maxMessage)
	heard := func() { _ = t.conn.SetReadDeadline(t.Clock.Now().Add(silence)) } // if this fails, so does reading
	t.conn.SetPongHandler(func(string) error { heard(); return nil })
	for {
		heard()
		kind, message, err := t.conn.ReadMessage()
		if err != nil {
			return
		}
		if kind == websocket.BinaryMessage {
			t.Used()
			if _, err := t.typed.Write(message); err != nil {
				return
			}
			continue
		}
		var s size
		if json.Unmarshal(message, &s) != nil || s.Columns == 0 || s.Rows == 0 || s.Columns > maxSide || s.Rows > maxSide {
			continue
		}
		select {
		case <-t.sizes: // drop the previous size
		default:
		}
		t.sizes <- remotecommand.TerminalSize{Width: s.Columns, Height: s.Rows} // never blocks: there is no other writer
	}
}

// watch ends the terminal with the session, and pings the browser.
func (t *terminal) watch() {
	ticker := t.Clock.NewTicker(lookEvery)
	defer ticker.Stop()
	pinged := t.Clock.Now()
	for {
		select {
		case <-t.ctx.Done():
			return
		case <-ticker.C():
		}
		if !t.Alive() {
			t.cancel(errSessionOver)
			return
		}
		if now := t.Clock.Now(); now.Sub(pinged) >= pingEvery {
			pinged = now
			if t.conn.WriteControl(websocket.PingMessage, nil, now.Add(writeTimeout)) != nil {
				t.cancel(errors.New("the browser is gone"))
				return
			}
		}
	}
}

// Write implements io.Writer for the output of the command.
func (t *terminal) Write(p []byte) (int, error) {
	if err := t.send(websocket.BinaryMessage, p); err != nil {
		t.cancel(err)
		return 0, err
	}
	return len(p), nil
}

func (t *terminal) send(kind int, message []byte) error {
	t.writing.Lock()
	defer t.writing.Unlock()
	if err := t.conn.SetWriteDeadline(t.Clock.Now().Add(writeTimeout)); err != nil {
		return fmt.Errorf("writing to the browser: %w", err)
	}
	if err := t.conn.WriteMessage(kind, message); err != nil {
		return fmt.Errorf("writing to the browser: %w", err)
	}
	return nil
}

// Next implements remotecommand.TerminalSizeQueue.
func (t *terminal) Next() *remotecommand.TerminalSize {
	select {
	case <-t.ctx.Done():
		return nil
	case s := <-t.sizes:
		return &s
	}
}

// finish tells the browser how the command ended.
func (t *terminal) finish(end string) {
	text, err := json.Marshal(map[string]string{"end": end})
	if err == nil && t.send(websocket.TextMessage, text) == nil {
		_ = t.send(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")) // the connection is closed next in any case
	}
}
