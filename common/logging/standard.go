package logging

import (
	"log"
	"strings"

	"github.com/go-logr/logr"
)

// Standard returns a logger of the standard library that writes to ours, for servers of
// the standard library, which know no other.
func Standard(to logr.Logger) *log.Logger { return log.New(lines{to}, "", 0) }

// lines makes an entry of each line.
type lines struct{ to logr.Logger }

// Write implements io.Writer.
func (l lines) Write(p []byte) (int, error) {
	l.to.Info("A server says", "message", strings.TrimSpace(string(p)))
	return len(p), nil
}
