package access

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"fairlead.dev/common/atomicfile"
	"fairlead.dev/common/prose"
)

const (
	// recordDir is the directory of the records, in the state directory.
	recordDir = "access"
	// changesFile records everything beyond reads: programs that were run, ports, changes, Secrets. readsFile has the
	// rest, and refusals, so that nobody can crowd out the record of what they did.
	changesFile = "changes"
	readsFile   = "reads"
	recordEnd   = ".jsonl"
	// maxRecord is the size limit of a file, in bytes, and keptRecords how many older ones are kept.
	maxRecord   = 4 << 20
	keptRecords = 4
)

// Values that callers choose are bounded within a line, in bytes, so that nobody fills the record with few requests.
// Every name that the API allows fits.
const (
	maxLineID     = 64
	maxLineName   = 1 << 10
	maxLineObject = 512
	maxLineGroups = 20 // groups
)

// errNoRecord says that there is no state directory to record in.
var errNoRecord = errors.New("the agent runs without a state directory")

// entry is a line of a record.
type entry struct {
	Time time.Time `json:"time"`
	// Phase is begun or ended; reads have one line, at their end.
	Phase string `json:"phase"`
	// Request is the hub's ID of the request, AuditID the one under which both API servers log it.
	Request string   `json:"request,omitempty"`
	AuditID string   `json:"auditID,omitempty"`
	User    string   `json:"user"`
	Groups  []string `json:"groups,omitempty"`
	// As is the identity that the operator has in the member, as the member's API server sees it.
	As      string `json:"as,omitempty"`
	Verb    string `json:"verb,omitempty"`
	Upgrade bool   `json:"upgrade,omitempty"`
	Object  string `json:"object"`
	// Query is recorded for requests that run a program, which it names.
	Query    string `json:"query,omitempty"`
	Status   int    `json:"status,omitempty"`
	Sent     int64  `json:"bytesToMember,omitempty"`
	Received int64  `json:"bytesFromMember,omitempty"`
	Seconds  string `json:"seconds,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// bounded returns the entry with its values cut to the bounds of a line.
func (l entry) bounded() entry {
	l.Request, l.AuditID = prose.Cut(l.Request, maxLineID), prose.Cut(l.AuditID, maxLineID)
	l.User, l.As, l.Reason = prose.Cut(l.User, maxLineName), prose.Cut(l.As, maxLineName), prose.Cut(l.Reason, maxLineName)
	l.Verb, l.Object, l.Query = prose.Cut(l.Verb, maxLineID), prose.Cut(l.Object, maxLineObject), prose.Cut(l.Query, maxLineObject)
	groups := make([]string, 0, min(len(l.Groups), maxLineGroups+1))
	for _, group := range l.Groups {
		if len(groups) == maxLineGroups {
			groups = append(groups, fmt.Sprintf("… and %d more", len(l.Groups)-maxLineGroups))
			break
		}
		groups = append(groups, prose.Cut(group, maxLineID))
	}
	l.Groups = groups
	return l
}

// record is a file of lines that is rotated when it is full.
type record struct {
	dir, name string
	limit     int64

	mu   sync.Mutex
	file *os.File
	size int64
}

// write appends an entry. If it returns nil, the operating system has the line, and with synced the disk has it.
func (r *record) write(l entry, synced bool) error {
	raw, err := json.Marshal(l.bounded())
	if err != nil {
		return fmt.Errorf("encoding a record: %w", err)
	}
	raw = append(raw, '\n')
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dir == "" {
		return errNoRecord
	}
	if err := r.open(int64(len(raw))); err != nil {
		return fmt.Errorf("opening the record of what operators do: %w", err)
	}
	n, err := r.file.Write(raw)
	if err == nil && synced {
		err = r.file.Sync()
	}
	if err != nil {
		if n > 0 {
			err = errors.Join(err, r.file.Truncate(r.size)) // half a line would spoil the next
		}
		return fmt.Errorf("recording what operators do: %w", errors.Join(err, r.close()))
	}
	r.size += int64(n)
	return nil
}

// open ensures that a file with room for more bytes is open.
func (r *record) open(more int64) error {
	if r.file != nil && r.size+more <= r.limit {
		return nil
	}
	if err := r.close(); err != nil {
		return err
	}
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return err
	}
	if info, err := os.Stat(r.path(0)); err == nil && info.Size()+more > r.limit {
		for i := keptRecords; i > 0; i-- {
			if err := os.Rename(r.path(i-1), r.path(i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	file, err := os.OpenFile(r.path(0), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	size, err := r.begin(file)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	r.file, r.size = file, size
	return nil
}

// begin prepares a file for appending and returns its size. An agent that was killed may have left half a line.
func (r *record) begin(file *os.File) (int64, error) {
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	size := info.Size()
	if size == 0 {
		return 0, atomicfile.SyncDirectory(r.dir) // the record is lost unless the file's name is on disk
	}
	last := make([]byte, 1)
	if _, err := file.ReadAt(last, size-1); err != nil {
		return 0, err
	}
	if last[0] == '\n' {
		return size, nil
	}
	n, err := file.WriteString("\n")
	return size + int64(n), err
}

// path returns the path of the current file (age 0) or of an older one.
func (r *record) path(age int) string {
	name := r.name + recordEnd
	if age > 0 {
		name = r.name + "." + strconv.Itoa(age) + recordEnd
	}
	return filepath.Join(r.dir, name)
}

func (r *record) close() error {
	if r.file == nil {
		return nil
	}
	file := r.file
	r.file = nil
	return file.Close()
}

// stop closes the file; a later write opens it again.
func (r *record) stop() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.close()
}
