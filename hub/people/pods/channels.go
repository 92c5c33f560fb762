package pods

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/httpstream" //nolint:staticcheck // client-go's upgrades use these types.
	protocol "k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	wstransport "k8s.io/client-go/transport/websocket"
	"k8s.io/client-go/util/exec"
	"k8s.io/utils/clock"
)

// Limits of a command's connection.
const (
	// maxStatus bounds the status message about the end of a command. The Kubernetes client reads it without a bound,
	// so a member could exhaust the hub's memory; that is why this file implements the channels itself.
	maxStatus = 64 << 10
	// pingEvery is the interval of pings, and silence how long the other end may send nothing.
	pingEvery = 5 * time.Second
	silence   = 12*pingEvery + time.Second
	// inputTimeout is how long the other end may not read, and inputBuffer the size of a message of input.
	inputTimeout = time.Minute
	inputBuffer  = 32 << 10
)

// errLongStatus says that the status of a command exceeds maxStatus.
var errLongStatus = fmt.Errorf("the member reports more than %d KiB about how the command ended, which is not read", maxStatus>>10)

// webSocket runs a command over a WebSocket. Each message starts with the number of its channel.
type webSocket struct {
	config *rest.Config
	at     string
}

// run runs the command until it or the context ends.
func (w webSocket) run(ctx context.Context, o remotecommand.StreamOptions) error {
	transport, holder, err := wstransport.RoundTripperFor(w.config)
	if err != nil {
		return fmt.Errorf("preparing a WebSocket: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.at, nil)
	if err != nil {
		return fmt.Errorf("preparing a WebSocket: %w", err)
	}
	conn, err := wstransport.Negotiate(transport, holder, request, protocol.StreamProtocolV5Name)
	if err != nil {
		return err
	}
	over, end := context.WithCancel(ctx)
	stop := context.AfterFunc(over, func() { _ = conn.Close() }) // unblocks reads and writes
	defer stop()
	defer func() { _ = conn.Close() }() // an error only means that it is closed
	defer end()
	c := &channels{conn: conn, options: o}
	go c.ping(over)
	if o.Stdin != nil {
		go c.sendInput()
	}
	if o.Tty && o.TerminalSizeQueue != nil {
		go c.sendSizes()
	}
	err = c.receive()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// channels are the channels of a command.
type channels struct {
	// RealClock is the clock by which the connection measures deadlines.
	clock.RealClock

	conn    *websocket.Conn
	options remotecommand.StreamOptions
	// writing serializes writes, as a WebSocket requires.
	writing sync.Mutex
}

// receive passes on the output of the command until it ends, and returns how it ended.
func (c *channels) receive() error {
	heard := func(string) error { return c.conn.SetReadDeadline(c.Now().Add(silence)) }
	if err := heard(""); err != nil {
		return fmt.Errorf("bounding the silence of a command: %w", err)
	}
	c.conn.SetPongHandler(heard)
	var status bytes.Buffer
	for {
		kind, message, err := c.conn.NextReader()
		switch {
		case websocket.IsCloseError(err, websocket.CloseNormalClosure):
			return endOf(status.Bytes())
		case err != nil:
			return fmt.Errorf("the connection of the command was lost: %w", err)
		case kind != websocket.BinaryMessage:
			return errors.New("the member sent text where only bytes are sent")
		}
		var channel [1]byte
		if _, err := io.ReadFull(message, channel[:]); err != nil {
			return fmt.Errorf("reading for which channel a message is: %w", err)
		}
		if err := c.take(channel[0], message, &status); err != nil {
			return err
		}
	}
}

// take passes on a message of a channel. Channels that were not requested are ignored.
func (c *channels) take(channel byte, message io.Reader, status *bytes.Buffer) error {
	var to io.Writer
	switch channel {
	case protocol.StreamStdOut:
		to = c.options.Stdout
	case protocol.StreamStdErr:
		to = c.options.Stderr
	case protocol.StreamErr:
		to, message = status, io.LimitReader(message, int64(maxStatus+1-status.Len()))
	}
	if to == nil {
		return nil
	}
	if _, err := io.Copy(to, message); err != nil {
		return fmt.Errorf("passing on what the command says: %w", err)
	}
	if status.Len() > maxStatus {
		return errLongStatus
	}
	return nil
}

// ping pings the other end until the context ends.
func (c *channels) ping(ctx context.Context) {
	ticker := c.NewTicker(pingEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			_ = c.conn.WriteControl(websocket.PingMessage, nil, c.Now().Add(inputTimeout)) // if the connection is gone, the read deadline passes
		}
	}
}

// sendInput passes on the input of the command, and its end.
func (c *channels) sendInput() {
	buffer := make([]byte, 1+inputBuffer)
	buffer[0] = protocol.StreamStdIn
	for {
		n, err := c.options.Stdin.Read(buffer[1:])
		if n > 0 && c.send(buffer[:1+n]) != nil {
			return
		}
		if err != nil {
			_ = c.send([]byte{protocol.StreamClose, protocol.StreamStdIn}) // an error means that the connection, and so the command, has ended
			return
		}
	}
}

// sendSizes passes on the size of the terminal.
func (c *channels) sendSizes() {
	for {
		size := c.options.TerminalSizeQueue.Next()
		if size == nil {
			return
		}
		raw, err := json.Marshal(size)
		if err != nil || c.send(append([]byte{protocol.StreamResize}, raw...)) != nil {
			return
		}
	}
}

func (c *channels) send(message []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.conn.SetWriteDeadline(c.Now().Add(inputTimeout)); err != nil {
		return fmt.Errorf("bounding what a command is given: %w", err)
	}
	if err := c.conn.WriteMessage(websocket.BinaryMessage, message); err != nil {
		return fmt.Errorf("giving a command what it reads: %w", err)
	}
	return nil
}

// endOf returns the error of a command from its status; nil on success. An empty status means success.
func endOf(raw []byte) error {
	if len(raw) == 0 {
		return nil
	}
	var status metav1.Status
	if err := json.Unmarshal(raw, &status); err != nil {
		return fmt.Errorf("reading how the command ended: %w", err)
	}
	switch {
	case status.Status == metav1.StatusSuccess:
		return nil
	case status.Status != metav1.StatusFailure:
		return fmt.Errorf("the member does not report how the command ended: its status is %q", status.Status)
	case status.Reason != protocol.NonZeroExitCodeReason || status.Details == nil:
		return errors.New(status.Message)
	}
	for _, cause := range status.Details.Causes {
		const bits = 8
		if code, err := strconv.ParseUint(cause.Message, 10, bits); err == nil && cause.Type == protocol.ExitCodeCauseType {
			return exec.CodeExitError{Err: fmt.Errorf("the command ended with status %d", code), Code: int(code)}
		}
	}
	return errors.New("the member does not report the exit status of the command")
}

// boundedUpgrader makes SPDY connections on which the status of a command is bounded as on a WebSocket.
type boundedUpgrader struct{ spdy.Upgrader }

// NewConnection implements spdy.Upgrader.
func (u boundedUpgrader) NewConnection(answer *http.Response) (httpstream.Connection, error) {
	conn, err := u.Upgrader.NewConnection(answer)
	if err != nil {
		return nil, err
	}
	return boundedConnection{conn}, nil
}

type boundedConnection struct{ httpstream.Connection }

// CreateStream implements httpstream.Connection.
func (c boundedConnection) CreateStream(headers http.Header) (httpstream.Stream, error) {
	kind := headers.Get(corev1.StreamType)
	stream, err := c.Connection.CreateStream(headers)
	if err != nil || kind != corev1.StreamTypeError {
		return stream, err
	}
	return &boundedStream{Stream: stream, conn: c.Connection, left: maxStatus}, nil
}

type boundedStream struct {
	httpstream.Stream

	conn httpstream.Connection
	left int
}

// Read implements io.Reader.
func (s *boundedStream) Read(p []byte) (int, error) {
	n, err := s.Stream.Read(p)
	if s.left -= n; s.left < 0 {
		_ = s.conn.Close() // nothing more is read from it
		return 0, errLongStatus
	}
	return n, err
}
