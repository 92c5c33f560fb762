package logging

import (
	"log"
	"strings"

	"github.com/go-logr/logr"
)

// Standard returns a standard library logger that writes to a logr.Logger, for servers of the standard library.
func Standard(to logr.Logger) *log.Logger { return log.New(lines{to}, "", 0) }

// lines logs each line as an entry.
type lines struct{ to logr.Logger }

// Write implements io.Writer.
func (l lines) Write(p []byte) (int, error) {
	l.to.Info("A server says", "message", strings.TrimSpace(string(p)))
	return len(p), nil
}
