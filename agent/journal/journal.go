package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"fairlead.dev/agent/journal/entry"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

const (
	// retryEvery is the interval at which failed writes and removals are retried.
	retryEvery = 30 * time.Second
	// syncEvery is the interval at which the directory is synced: a power loss may undo the renames of that time.
	syncEvery = time.Second
	// memberFile identifies the member that the journal belongs to.
	memberFile = "member"
)

// Options configure a journal.
type Options struct {
	// Directory is used by the journal alone. It is created if it is missing.
	Directory string
	// Cluster is the name of the member on the hub.
	Cluster string
	// Key seals the files; nil writes them in plain text.
	Key      entry.Key
	Clock    clock.Clock
	Log      logr.Logger
	Registry prometheus.Registerer
}

// Journal keeps Works on disk. It is safe for concurrent use, but no two goroutines may write the same Work at a
// time.
type Journal struct {
	directory string
	member    entry.Member
	key       entry.Key
	clock     clock.Clock
	log       logr.Logger
	metrics   *metrics
	// replace, syncDir and unlink touch the disk. Tests make them fail.
	replace func(path string, text []byte) error
	syncDir func(path string) error
	unlink  func(path string) error

	// writing is read-locked while the agent writes or removes a file, and locked while failed writes are retried or
	// the journal is erased.
	writing sync.RWMutex
	// syncing is held while the directory is synced, so that whoever returns from syncNames knows that the sync is
	// done.
	syncing sync.Mutex

	mu sync.Mutex
	// kept maps the name of a Work to the version on disk, and sizes to the length of its file in bytes.
	kept  map[string]version
	sizes map[string]int
	// unwritten are the Works that could not be written. The disk has no version of them, or, if the Work is in
	// outdated, an older one.
	unwritten map[string]entry.Record
	// outdated are the Works whose older file could be neither replaced nor removed.
	outdated map[string]struct{}
	// dirUnsynced says that files were renamed or removed since the directory was last synced.
	dirUnsynced bool
	// rules is the file with the interpreter customizations.
	rules rules
	// kinds is the file with the applied kinds, deletions the one with the pending deletions.
	kinds     extra[entry.Kinds]
	deletions extra[entry.Deletions]
	// memberUnwritten says that memberFile still has to be written.
	memberUnwritten bool
	failing         bool
}

// Put stores the present version of a Work. It returns true if the disk now has this version or none. It returns
// false if an older version could be neither replaced nor removed, or if the Work is being deleted and the directory
// could not be synced: a power loss could then bring the older version back, and with it the objects deleted for the
// Work. For other Works the older version may come back for as long as syncEvery.
func (j *Journal) Put(work *workv1alpha1.Work) (current bool) { return j.put(entry.Record{Work: work}) }

// Absent stores a Work as one that is missing on the hub although the hub never asked for its deletion. It returns
// what Put returns.
func (j *Journal) Absent(work *workv1alpha1.Work) (current bool) {
	return j.put(entry.Record{Work: work, Absent: true})
}

func (j *Journal) put(r entry.Record) (current bool) {
	j.writing.RLock()
	defer j.writing.RUnlock()
	j.mu.Lock()
	known, ok := j.kept[r.Work.Name]
	delete(j.unwritten, r.Work.Name)
	j.mu.Unlock()
	if !ok || known != versionOf(r) {
		r.Work = entry.Slim(r.Work)
		if err := j.write(r); err != nil && !j.keepUnwritten(r, err) {
			return false
		}
	}
	return r.Work.DeletionTimestamp.IsZero() || j.syncNames()
}

func (j *Journal) write(r entry.Record) error {
	name := fileOf(r.Work.Name)
	text, err := entry.Encode(name, r, j.key)
	if err != nil {
		return err
	}
	if err := j.replace(filepath.Join(j.directory, name), text); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.kept[r.Work.Name] = versionOf(r)
	j.sizes[r.Work.Name] = len(text)
	delete(j.outdated, r.Work.Name)
	j.dirUnsynced = true
	j.metrics.works.Set(float64(len(j.kept)))
	return nil
}

// keepUnwritten records that a Work could not be written and removes its older version. It returns whether that is
// gone.
func (j *Journal) keepUnwritten(r entry.Record, why error) bool {
	removed := j.remove(r.Work.Name)
	j.mu.Lock()
	j.unwritten[r.Work.Name] = r
	j.mu.Unlock()
	j.reportFailure(why)
	return removed
}

// Remove removes a Work from the journal.
func (j *Journal) Remove(work types.NamespacedName) {
	j.writing.RLock()
	defer j.writing.RUnlock()
	j.remove(work.Name)
}

// remove removes a Work and returns whether its file is gone.
func (j *Journal) remove(work string) bool {
	j.mu.Lock()
	_, kept := j.kept[work]
	_, outdated := j.outdated[work]
	delete(j.kept, work)
	delete(j.sizes, work)
	delete(j.unwritten, work)
	j.metrics.works.Set(float64(len(j.kept)))
	j.mu.Unlock()
	if !kept && !outdated {
		return true
	}
	if err := j.removeFile(work); err != nil {
		j.reportFailure(err)
		return false
	}
	return true
}

// removeFile removes the file of a Work, and records the Work as outdated if that fails.
func (j *Journal) removeFile(work string) error {
	err := j.unlink(filepath.Join(j.directory, fileOf(work)))
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		j.outdated[work] = struct{}{}
		return err
	}
	delete(j.outdated, work)
	j.dirUnsynced = true
	return nil
}

// Erase removes the whole journal, directory included.
func (j *Journal) Erase() error {
	j.writing.Lock()
	defer j.writing.Unlock()
	j.mu.Lock()
	j.kept, j.sizes, j.unwritten, j.outdated = map[string]version{}, map[string]int{}, map[string]entry.Record{}, map[string]struct{}{}
	j.rules.forget()
	j.kinds.forget()
	j.deletions.forget()
	j.mu.Unlock()
	j.member.Namespace = ""
	if err := os.RemoveAll(j.directory); err != nil {
		return fmt.Errorf("removing the journal: %w", err)
	}
	return nil
}
