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

// Open opens the journal of a member. It returns the execution namespace of the Works, empty if it is not known, and
// the Works. Unusable files and disk errors are logged; they are never an error for the caller.
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
		rules:     rules{extra: extra[entry.Rules]{name: rulesFile, most: 2 * maxRules}},
		kinds:     extra[entry.Kinds]{name: kindsFile, most: maxKinds},
		deletions: extra[entry.Deletions]{name: deletionsFile, most: maxDeletions},
		// The previous process may have been killed before it synced the directory.
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
		j.setAside(memberFile, fmt.Errorf("it is the journal of cluster %q", member.Cluster))
		return j, "", nil
	}
	j.member = member
	j.rules.load(j)
	j.kinds.load(j)
	j.deletions.load(j)
	return j, member.Namespace, j.load()
}

// CheckSeal returns an error if there is a journal that is sealed with another key than that of the options, or that
// is not sealed although the options have a key. Open would set such a journal aside.
func CheckSeal(o Options) error {
	j := &Journal{directory: o.Directory, key: o.Key}
	_, err := j.read(memberFile, &entry.Member{})
	if errors.Is(err, entry.ErrKey) || errors.Is(err, entry.ErrUnsealed) {
		return fmt.Errorf("reading the journal in %q: %w", o.Directory, err)
	}
	return nil
}

// Begin sets the execution namespace of the Works and sets the files of any other namespace aside.
func (j *Journal) Begin(namespace string) {
	if j.member.Namespace == namespace {
		return
	}
	j.member.Namespace = namespace
	for _, name := range j.files() {
		j.setAside(name, errors.New("it belongs to another execution namespace"))
	}
	if err := errors.Join(j.rules.remove(j), j.kinds.remove(j), j.deletions.remove(j)); err != nil { // it may be another hub
		j.reportFailure(err)
	}
	j.mu.Lock()
	j.memberUnwritten = true
	j.rules.forget()
	j.kinds.forget()
	j.deletions.forget()
	j.mu.Unlock()
	if err := j.writeMember(); err != nil {
		j.reportFailure(err)
		return
	}
	j.syncNames()
}

// writeMember writes memberFile, unless it is on disk. Without it, the next start cannot use the other files.
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
			err = errors.New("it has another Work than its name says")
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

// files lists the files that should hold Works, and removes temporary files left by a killed process.
func (j *Journal) files() []string {
	entries, err := os.ReadDir(j.directory)
	if err != nil {
		j.reportFailure(err)
	}
	var out []string
	for _, e := range entries {
		switch name := e.Name(); {
		case name == memberFile || name == rulesFile || name == kindsFile || name == deletionsFile || name == aside:
		case strings.HasPrefix(name, atomicfile.Temporary):
			_ = os.Remove(filepath.Join(j.directory, name))
		default:
			out = append(out, name)
		}
	}
	return out
}

// read decodes a file and returns its length in bytes.
func (j *Journal) read(name string, value any) (int, error) {
	text, err := os.ReadFile(filepath.Join(j.directory, name)) //nolint:gosec // It is one of ours.
	if err != nil {
		return 0, err
	}
	return len(text), entry.Decode(name, text, j.key, value)
}

func (j *Journal) setAside(name string, why error) {
	j.log.Info("Setting aside a file of the journal that cannot be used", "file", name, "reason", why.Error())
	j.metrics.aside.Inc()
	if err := setAside(j.directory, name); err != nil {
		j.reportFailure(err)
	}
}
