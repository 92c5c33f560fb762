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

// Bounds of what a replica accepts from another, and never exceeds itself.
const (
	// MaxMessage is how many bytes a message may have.
	MaxMessage = 64 << 10
	// MaxLines is how many lines a replica may have.
	MaxLines = 20_000
	// linesPerMessage keeps a message of the longest lines below MaxMessage.
	linesPerMessage = 30
	// maxOperators is how many bytes may say what the owner of a member lets operators do.
	maxOperators = 256
	// sessionLength is how many characters the hash of a session has.
	sessionLength = 64
)

// ErrMalformed says that a replica sent what no replica sends.
var ErrMalformed = errors.New("the message is malformed")

// Message is one message from one replica to another.
type Message struct {
	// Heartbeat says how the sender is; nil in messages that say something else only.
	Heartbeat *Heartbeat `json:"beat,omitempty"`
	// Lines are as the sender has them now, in place of what it said of these clusters before.
	Lines []Line `json:"lines,omitempty"`
	// Gone are clusters of which the sender knows no line any more.
	Gone []string `json:"gone,omitempty"`
	// Synced says that all lines of the sender have been told.
	Synced bool `json:"synced,omitempty"`
}

// Heartbeat is how a replica is.
type Heartbeat struct {
	// Elected says that the sender is the replica that works.
	Elected bool `json:"elected,omitempty"`
	// Hears says that the sender has all lines of the receiver, as they are now.
	Hears bool `json:"hears,omitempty"`
}

// Line is one replica's report on the line of a cluster.
type Line struct {
	Cluster string `json:"cluster"`
	// Up says that requests can be sent through it. Otherwise it was lost.
	Up bool `json:"up,omitempty"`
	// SinceAgo is how many milliseconds ago it, or the last one, came up without a gap since.
	SinceAgo int64 `json:"sinceAgo"`
	// LostAgo is how many milliseconds ago the last one ended; 0 while one is up.
	LostAgo int64 `json:"lostAgo,omitempty"`
	// Goodbye says that the agent ended the line on purpose.
	Goodbye bool `json:"goodbye,omitempty"`
	// Presence is by what the agent was asked to show that the member is there: line or lease.
	Presence string `json:"presence,omitempty"`
	// Operators summarizes the permissions that the owner of the member gives to operators.
	Operators string `json:"operators,omitempty"`
	// Session is a hash of what tells the processes of agents apart that have the same certificate. Replicas of before do not tell it.
	Session string `json:"session,omitempty"`
}

// Split makes messages of any number of lines and of clusters without one.
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

// Encode returns a message as it goes to another replica, with the newline that ends it. What people wrote is shortened where it is too long.
func Encode(m Message) ([]byte, error) {
	for i := range m.Lines {
		if len(m.Lines[i].Operators) > maxOperators {
			m.Lines = append([]Line(nil), m.Lines...) // the caller's stay as they are
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
		return nil, fmt.Errorf("encoding what another replica is told: %w", err)
	}
	if len(data) >= MaxMessage {
		return nil, fmt.Errorf("encoding what another replica is told: %w: it has %d bytes", ErrMalformed, len(data))
	}
	return append(data, '\n'), nil
}

// Reader reads messages of another replica.
type Reader struct{ from *bufio.Reader }

// NewReader returns a reader that holds one message at a time.
func NewReader(from io.Reader) *Reader { return &Reader{from: bufio.NewReaderSize(from, MaxMessage)} }

// Next returns the next message. It returns io.EOF at the end, and ErrMalformed for what no replica sends; nothing can be read after an error.
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

// validate says why no replica sends such a message.
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
			return fmt.Errorf("%w: what should be the hash of a session of %s is none", ErrMalformed, l.Cluster)
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

// isName says whether a Cluster may be called so.
func isName(s string) bool {
	return len(s) <= contract.MaxClusterNameLength && len(validation.IsDNS1123Label(s)) == 0
}
