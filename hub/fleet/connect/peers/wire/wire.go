package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"fairlead.dev/common/contract"
)

// Limits for messages between replicas.
const (
	// MaxMessage is the largest size of a message in bytes.
	MaxMessage = 64 << 10
	// MaxLines is the largest number of lines of a replica.
	MaxLines = 20_000
	// linesPerMessage keeps a message of the longest possible lines below MaxMessage.
	linesPerMessage = 30
	// maxOperators is the largest length of Line.Operators in bytes.
	maxOperators = 256
	// sessionLength is the length of the hash of a session, in characters.
	sessionLength = 64
)

// ErrMalformed says that a message is invalid.
var ErrMalformed = errors.New("the message is malformed")

// Message is one message from one replica to another.
type Message struct {
	// Heartbeat is the state of the sender; nil in messages that only report lines.
	Heartbeat *Heartbeat `json:"beat,omitempty"`
	// Lines are the sender's present lines of some clusters, and replace its earlier reports on these clusters.
	Lines []Line `json:"lines,omitempty"`
	// Gone are clusters of which the sender has no line any more.
	Gone []string `json:"gone,omitempty"`
	// Synced says that all lines of the sender have been sent.
	Synced bool `json:"synced,omitempty"`
}

// Heartbeat is the state of a replica.
type Heartbeat struct {
	// Elected says that the sender is the leader.
	Elected bool `json:"elected,omitempty"`
	// Hears says that the sender has all present lines of the receiver.
	Hears bool `json:"hears,omitempty"`
}

// Line is one replica's report on the line of a cluster.
type Line struct {
	Cluster string `json:"cluster"`
	// Up says that the line is open. Otherwise it was lost.
	Up bool `json:"up,omitempty"`
	// SinceAgo is how many milliseconds ago the cluster got its line, without a gap since.
	SinceAgo int64 `json:"sinceAgo"`
	// LostAgo is how many milliseconds ago the last line ended; 0 while one is open.
	LostAgo int64 `json:"lostAgo,omitempty"`
	// Goodbye says that the agent announced the end of the line.
	Goodbye bool `json:"goodbye,omitempty"`
	// Presence is the heartbeat that the agent was asked for: line or lease.
	Presence string `json:"presence,omitempty"`
	// Operators summarizes the permissions that the owner of the member gives to operators.
	Operators string `json:"operators,omitempty"`
	// Session is a hash that distinguishes the agent processes which share a certificate. Older replicas do not send it.
	Session string `json:"session,omitempty"`
}

// Split makes messages of the lines of clusters, and of the clusters without a line.
func Split(lines []Line, gone []string) []Message {
	var out []Message
	for len(lines)+len(gone) > 0 {
		n := min(len(lines), linesPerMessage)
		m := min(len(gone), linesPerMessage-n)
		out = append(out, Message{Lines: lines[:n:n], Gone: gone[:m:m]})
		lines, gone = lines[n:], gone[m:]
	}
	return out
}

// Encode encodes a message, with a newline at its end. Texts are truncated to the limits.
func Encode(m Message) ([]byte, error) {
	for i := range m.Lines {
		if len(m.Lines[i].Operators) > maxOperators {
			m.Lines = append([]Line(nil), m.Lines...) // do not change the caller's lines
			break
		}
	}
	for i := range m.Lines {
		if over := m.Lines[i].Operators; len(over) > maxOperators {
			m.Lines[i].Operators = string(bytes.ToValidUTF8([]byte(over[:maxOperators]), nil))
		}
	}
	data, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encoding a message to another replica: %w", err)
	}
	if len(data) >= MaxMessage {
		return nil, fmt.Errorf("encoding a message to another replica: %w: it has %d bytes", ErrMalformed, len(data))
	}
	return append(data, '\n'), nil
}

// Reader reads messages of another replica.
type Reader struct{ from *bufio.Reader }

// NewReader returns a reader that holds one message at a time.
func NewReader(from io.Reader) *Reader { return &Reader{from: bufio.NewReaderSize(from, MaxMessage)} }

// Next returns the next message. It returns io.EOF at the end, and ErrMalformed for an invalid message; after an error
// the reader cannot be used.
func (r *Reader) Next() (Message, error) {
	text, err := r.from.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return Message{}, fmt.Errorf("%w: it is longer than %d bytes", ErrMalformed, MaxMessage)
	case errors.Is(err, io.EOF) && len(text) > 0:
		return Message{}, io.ErrUnexpectedEOF
	case err != nil:
		return Message{}, err
	}
	var m Message
	if err := json.Unmarshal(text, &m); err != nil {
		return Message{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return m, m.validate()
}

// validate returns an error if a message is invalid.
func (m Message) validate() error {
	for _, name := range m.Gone {
		if !isName(name) {
			return fmt.Errorf("%w: %q is not the name of a cluster", ErrMalformed, name)
		}
	}
	for _, l := range m.Lines {
		switch {
		case !isName(l.Cluster):
			return fmt.Errorf("%w: %q is not the name of a cluster", ErrMalformed, l.Cluster)
		case l.SinceAgo < 0 || l.SinceAgo > maxAge, l.LostAgo < 0 || l.LostAgo > maxAge:
			return fmt.Errorf("%w: the line of %s came up %d ms ago and was lost %d ms ago", ErrMalformed, l.Cluster, l.SinceAgo, l.LostAgo)
		case len(l.Operators) > maxOperators:
			return fmt.Errorf("%w: what operators may do in %s has %d bytes", ErrMalformed, l.Cluster, len(l.Operators))
		case l.Presence != "" && l.Presence != contract.LineIsPresence && l.Presence != contract.LeaseIsPresence:
			return fmt.Errorf("%w: %q is no presence of %s", ErrMalformed, l.Presence, l.Cluster)
		case l.Session != "" && !IsSession(l.Session):
			return fmt.Errorf("%w: the hash of a session of %s is not valid", ErrMalformed, l.Cluster)
		}
	}
	return nil
}

// maxAge is older than any hub, in milliseconds: ten years.
const maxAge = int64(10 * 365 * 24 * time.Hour / time.Millisecond)

// IsSession says whether a text is the hash of a session.
func IsSession(s string) bool {
	return len(s) == sessionLength && strings.Trim(s, "0123456789abcdef") == ""
}

// isName says whether a text can be the name of a Cluster.
func isName(s string) bool {
	return len(s) <= contract.MaxClusterNameLength && len(validation.IsDNS1123Label(s)) == 0
}
