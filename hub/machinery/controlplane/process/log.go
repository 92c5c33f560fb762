package process

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

const (
	maxLogSize = 16 << 20
	tailSize   = 8 << 10
)

// logFile is a log of bounded size: the current file and the previous one. Each run starts a new file.
type logFile struct {
	path string
	max  int64

	mu   sync.Mutex
	file *os.File
	size int64
}

func newLogFile(path string) (*logFile, error) {
	l := &logFile{path: path, max: maxLogSize}
	return l, l.rotate()
}

func (l *logFile) rotate() error {
	if l.file != nil {
		_ = l.file.Close()
		l.file = nil
	}
	if err := os.Rename(l.path, l.path+".1"); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("rotating log: %w", err)
	}
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening log: %w", err)
	}
	l.file, l.size = f, 0
	return nil
}

// Write never fails: a component must not die of a broken pipe because its log cannot be written.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size+int64(len(p)) > l.max && l.size > 0 {
		_ = l.rotate()
	}
	if l.file != nil {
		n, _ := l.file.Write(p)
		l.size += int64(n)
	}
	return len(p), nil
}

func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// tail returns the last lines of a log.
func tail(path string, lines int) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	data, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-tailSize), tailSize))
	if err != nil {
		return ""
	}
	all := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
