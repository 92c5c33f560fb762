package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"fairlead.dev/agent/journal/entry"
	"fairlead.dev/common/atomicfile"
)

// Open opens the journal of a member. It returns the execution namespace of the Works, empty if that is not known, and the Works. It logs
// files that it cannot use and a disk that fails, and returns no error for them.
func Open(o Options) (*Journal, string, []entry.Record) {
	j := &Journal{
		directory: o.Directory,
		member:    entry.Member{Cluster: o.Cluster},
		key:       o.Key,
		clock:     o.Clock,
		log:       o.Log.WithName("journal").WithValues("directory", o.Directory),
		metrics:   newMetrics(o.Registry),
		replace:   atomicfile.Replace,
		syncDir:   atomicfile.SyncDirectory,
		unlink:    os.Remove,
		kept:      map[string]version{},
		sizes:     map[string]int{},
		unwritten: map[string]entry.Record{},
		outdated:  map[string]struct{}{},
		// A process that was killed may not have come to it.
		dirUnsynced: true,
	}
	if err := os.MkdirAll(j.directory, directoryMode); err != nil {
		j.reportFailure(err)
		return j, "", nil
	}
	if err := os.Chmod(j.directory, directoryMode); err != nil { // somebody may have made it before us
		j.reportFailure(err)
	}
	var member entry.Member
	_, err := j.read(memberFile, &member)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return j, "", nil
	case err != nil:
		j.setAside(memberFile, err)
		return j, "", nil
	case member.Cluster != o.Cluster:
		j.setAside(memberFile, fmt.Errorf("it is that of cluster %q", member.Cluster))
		return j, "", nil
	}
	j.member = member
	j.loadRules()
	return j, member.Namespace, j.load()
}

// CheckSeal returns an error if the existing journal is sealed with another key than that of the options. Open would set such a journal aside.
func CheckSeal(o Options) error {
	j := &Journal{directory: o.Directory, key: o.Key}
	_, err := j.read(memberFile, &entry.Member{})
	if errors.Is(err, entry.ErrKey) || errors.Is(err, entry.ErrUnsealed) {
		return fmt.Errorf("reading the journal in %q: %w", o.Directory, err)
	}
	return nil
}

// Begin sets the execution namespace of the Works. Files of another namespace are set aside.
func (j *Journal) Begin(namespace string) {
	if j.member.Namespace == namespace {
		return
	}
	j.member.Namespace = namespace
	for _, name := range j.files() {
		j.setAside(name, errors.New("it belongs to another execution namespace"))
	}
	if err := j.removeRules(); err != nil { // it may be another hub
		j.reportFailure(err)
	}
	j.mu.Lock()
	j.memberUnwritten = true
	j.rules = rules{}
	j.mu.Unlock()
	if err := j.writeMember(); err != nil {
		j.reportFailure(err)
		return
	}
	j.syncNames()
}

// writeMember writes the file that identifies the member, unless it is on disk. Without that file the rest of the journal cannot be used.
func (j *Journal) writeMember() error {
	j.mu.Lock()
	needed := j.memberUnwritten
	j.mu.Unlock()
	if !needed {
		return nil
	}
	text, err := entry.Encode(memberFile, j.member, j.key)
	if err == nil {
		err = j.replace(filepath.Join(j.directory, memberFile), text)
	}
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.memberUnwritten, j.dirUnsynced = false, true
	return nil
}

// load reads all Works.
func (j *Journal) load() []entry.Record {
	var out []entry.Record
	for _, name := range j.files() {
		var r entry.Record
		size, err := j.read(name, &r)
		switch {
		case err != nil:
		case r.Work == nil:
			err = entry.ErrForeign
		case fileOf(r.Work.Name) != name, r.Work.Namespace != j.member.Namespace:
			err = errors.New("it is of another Work than its name says")
		}
		if err != nil {
			j.setAside(name, err)
			continue
		}
		j.kept[r.Work.Name], j.sizes[r.Work.Name] = versionOf(r), size
		out = append(out, r)
	}
	j.metrics.works.Set(float64(len(j.kept)))
	return out
}

// files returns the names of the files that should be Works, and removes temporary files.
func (j *Journal) files() []string {
	entries, err := os.ReadDir(j.directory)
	if err != nil {
		j.reportFailure(err)
	}
	var out []string
	for _, e := range entries {
		switch name := e.Name(); {
		case name == memberFile || name == rulesFile || name == aside:
		case strings.HasPrefix(name, atomicfile.Temporary):
			_ = os.Remove(filepath.Join(j.directory, name)) // nobody reads it
		default:
			out = append(out, name)
		}
	}
	return out
}

// read reads a file, and returns its length in bytes.
func (j *Journal) read(name string, value any) (int, error) {
	text, err := os.ReadFile(filepath.Join(j.directory, name)) //nolint:gosec // It is one of ours.
	if err != nil {
		return 0, err
	}
	return len(text), entry.Decode(name, text, j.key, value)
}

func (j *Journal) setAside(name string, why error) {
	j.log.Info("Setting a file of the journal aside that cannot be used", "file", name, "reason", why.Error())
	j.metrics.aside.Inc()
	if err := setAside(j.directory, name); err != nil {
		j.reportFailure(err)
	}
}
