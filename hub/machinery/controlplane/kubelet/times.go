package kubelet

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// times are the times of the lines of a log. A log is a file that programs append to, without times; what was appended
// since the last check gets the file's modification time. That is stored in a file next to the log, so that a line
// always has the same time: a client that follows a log continues after the last time that it saw.
type times struct {
	log, path string

	mu      sync.Mutex
	loaded  bool
	entries []entry
}

// entry is one observation of a log: the time of the lines up to an offset, starting where the previous entry ends.
type entry struct {
	end int64
	at  time.Time
}

// timesOf returns the times of a container's log, shared by all its readers.
func (p *pods) timesOf(c container) *times {
	known, _ := p.times.LoadOrStore(c.log, &times{log: c.log, path: c.dir + ".times"})
	return known.(*times) //nolint:forcetypeassert // nothing else is stored
}

// catchUp assigns a time to what was appended, and returns the length of the log.
func (t *times) catchUp() (int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(); err != nil {
		return 0, err
	}
	info, err := os.Stat(t.log)
	if err != nil {
		return 0, err
	}
	size, at := info.Size(), info.ModTime()
	var from int64
	if n := len(t.entries); n > 0 {
		last := t.entries[n-1]
		switch {
		case size == last.end:
			return size, nil
		case size < last.end: // The file was truncated.
			t.entries = nil
			if err := os.Truncate(t.path, 0); err != nil {
				return 0, err
			}
		default:
			from = last.end
			if next := t.after(); at.Before(next) {
				at = next
			}
		}
	}
	if size == from {
		return size, nil
	}
	if err := t.keep(entry{end: size, at: at}); err != nil {
		return 0, err
	}
	return size, nil
}

// after returns a time after that of all lines so far: see at.
func (t *times) after() time.Time {
	n := len(t.entries)
	begin := int64(0)
	if n > 1 {
		begin = t.entries[n-2].end
	}
	return t.entries[n-1].at.Add(time.Duration(t.entries[n-1].end - begin))
}

// at returns the time of the line at an offset. Each line has a different time, so that clients can continue after any
// of them.
func (t *times) at(offset int64) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	i, _ := slices.BinarySearchFunc(t.entries, offset+1, func(e entry, end int64) int { return int(e.end - end) })
	if i == len(t.entries) {
		return time.Time{} // it was truncated just now
	}
	begin := int64(0)
	if i > 0 {
		begin = t.entries[i-1].end
	}
	return t.entries[i].at.Add(time.Duration(offset - begin))
}

// keep appends an entry, first to the file.
func (t *times) keep(e entry) error {
	file, err := os.OpenFile(t.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "%d %d\n", e.end, e.at.UnixNano())
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	t.entries = append(t.entries, e)
	return nil
}

// load reads the entries of an earlier process. If that was killed, the last one may be incomplete.
func (t *times) load() error {
	if t.loaded {
		return nil
	}
	data, err := os.ReadFile(t.path)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	valid := 0
	for line := range strings.Lines(string(data)) {
		var end, at int64
		if n, err := fmt.Sscanf(line, "%d %d\n", &end, &at); n != 2 || err != nil || !strings.HasSuffix(line, "\n") {
			break
		}
		t.entries = append(t.entries, entry{end: end, at: time.Unix(0, at)})
		valid += len(line)
	}
	if valid < len(data) {
		if err := os.Truncate(t.path, int64(valid)); err != nil {
			return err
		}
	}
	t.loaded = true
	return nil
}
