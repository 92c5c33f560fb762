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

// Bounds of a terminal.
const (
	// maxMessage is the longest message of a browser: what is typed is short, what is pasted is cut into pieces.
	maxMessage = 64 << 10
	// lookEvery is how often it is looked whether the session has ended, pingEvery how often the browser has to answer.
	lookEvery = 2 * time.Second
	pingEvery = 20 * time.Second
	// silence is how long a browser may answer nothing, writeTimeout how long it may take nothing.
	silence      = time.Minute
	writeTimeout = 20 * time.Second
	bufferSize   = 16 << 10
	maxSide      = 1000
)

// Ends are the command's ends of a terminal.
type Ends struct {
	In    io.Reader
	Out   io.Writer
	Sizes remotecommand.TerminalSizeQueue
}

// Options say what a terminal is for.
type Options struct {
	// Secure says that the page is served over TLS.
	Secure bool
	Clock  clock.WithTicker
	// Run runs the command until it ends or the context does, and says in words how it ended.
	Run func(ctx context.Context, e Ends) string
	// Alive says whether the session of the person has not ended; Used is called when they type.
	Alive func() bool
	Used  func()
}

// errSessionOver says that whoever typed is not signed in any more.
var errSessionOver = errors.New("you are not signed in any more")

// Serve runs a command with the terminal of a browser. It returns when both ends are done with.
func Serve(w http.ResponseWriter, r *http.Request, o Options) {
	up := websocket.Upgrader{
		ReadBufferSize: bufferSize, WriteBufferSize: bufferSize, HandshakeTimeout: writeTimeout,
		CheckOrigin: func(r *http.Request) bool { return SameOrigin(r, o.Secure) },
	}
	conn, err := up.Upgrade(w, r, nil)
	if err != nil {
		return // it has said so to the browser
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
	_ = in.Close() // who types on is not heard
	_ = conn.Close()
	group.Wait()
}

// terminal is one that is open.
type terminal struct {
	Options
	conn   *websocket.Conn
	typed  *io.PipeWriter
	sizes  chan remotecommand.TerminalSize
	ctx    context.Context //nolint:containedctx // It is that of the terminal, which is one call.
	cancel context.CancelCauseFunc
	// writing is held by the one who writes: a WebSocket has room for one.
	writing sync.Mutex
}

// size is the browser's message about a new size of its terminal.
type size struct {
	Columns uint16 `json:"columns"`
	Rows    uint16 `json:"rows"`
}

// read passes on what is typed until the browser is gone.
func (t *terminal) read() {
	defer t.cancel(errors.New("the browser is gone"))
	defer func() { _ = t.typed.Close() }() // the command has all of it
	t.conn.SetReadLimit(maxMessage)
	heard := func() { _ = t.conn.SetReadDeadline(t.Clock.Now().Add(silence)) } // reading fails if this does
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
		case <-t.sizes: // the one before does not matter any more
		default:
		}
		t.sizes <- remotecommand.TerminalSize{Width: s.Columns, Height: s.Rows} // nobody else writes to it
	}
}

// watch ends the terminal with the session, and has the browser show that it is there.
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

// Write implements io.Writer: it is what the command says.
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

// finish says how it ended.
func (t *terminal) finish(end string) {
	text, err := json.Marshal(map[string]string{"end": end})
	if err == nil && t.send(websocket.TextMessage, text) == nil {
		_ = t.send(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")) // it is closed anyway
	}
}
