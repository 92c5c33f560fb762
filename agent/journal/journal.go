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
	// retryEvery is how often what could not be written is tried again.
	retryEvery = 30 * time.Second
	// syncEvery is for how long names of files may be lost with the power.
	syncEvery = time.Second
	// memberFile says whose journal it is.
	memberFile = "member"
)

// Options say where a journal is and whose.
type Options struct {
	// Directory is that of the journal alone. It is made if it is missing.
	Directory string
	// Cluster is the name of the member on the hub.
	Cluster string
	// Key seals what is written; nil writes it as it is.
	Key entry.Key
	// Clock tells the time.
	Clock clock.Clock
	// Log takes warnings.
	Log logr.Logger
	// Registry takes the metrics.
	Registry prometheus.Registerer
}

// Journal keeps Works on disk. It is safe for use by many goroutines. Each Work must be
// written by one at a time.
type Journal struct {
	directory string
	member    entry.Member
	key       entry.Key
	clock     clock.Clock
	log       logr.Logger
	metrics   *metrics
	// replace and syncDir are those of atomicfile, and unlink is that of os; tests have them fail.
	replace func(path string, text []byte) error
	syncDir func(path string) error
	unlink  func(path string) error

	// writing is held for reading by whoever writes a Work, and for writing by who writes
	// what could not be written before.
	writing sync.RWMutex
	// syncing is held by whoever syncs the directory: that it is done before is true once it is over.
	syncing sync.Mutex

	mu sync.Mutex
	// kept has, by the name of each Work, the version that is on disk, and sizes the length of its file in bytes.
	kept  map[string]version
	sizes map[string]int
	// unwritten are the Works of which the disk does not have what it should.
	unwritten map[string]entry.Record
	// outdated are the Works of which the disk has an older version that could be neither replaced nor removed.
	outdated map[string]struct{}
	// dirUnsynced says that names changed since the directory was last synced.
	dirUnsynced bool
	// rules is the state of the file of the interpreter's customizations.
	rules rules
	// memberUnwritten says that the file that tells whose journal it is has to be written.
	memberUnwritten bool
	failing         bool
}

// Put keeps a Work as it is now, and says whether the disk has this version or none. If it does not, it has an older one that
// could be neither replaced nor removed so far. Of a Work that is being deleted a loss of power does not undo it: what is deleted for it then
// would be made again. Of others it may, for as long as syncEvery.
func (j *Journal) Put(work *workv1alpha1.Work) (current bool) { return j.put(entry.Record{Work: work}) }

// Absent keeps a Work as one that the hub does not have any more, and never said to
// delete. It says the same as Put.
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

// write writes one Work.
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

// keepUnwritten notes that a Work could not be written, and drops its older version. It says whether that is gone.
func (j *Journal) keepUnwritten(r entry.Record, why error) bool {
	removed := j.remove(r.Work.Name)
	j.mu.Lock()
	j.unwritten[r.Work.Name] = r
	j.mu.Unlock()
	j.reportFailure(why)
	return removed
}

// Remove forgets a Work.
func (j *Journal) Remove(work types.NamespacedName) {
	j.writing.RLock()
	defer j.writing.RUnlock()
	j.remove(work.Name)
}

// remove forgets a Work, and says whether the disk has it no more.
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

// removeFile removes the file of a Work, and remembers it if that fails.
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

// Erase removes all that is kept, and where the Works were.
func (j *Journal) Erase() error {
	j.writing.Lock()
	defer j.writing.Unlock()
	j.mu.Lock()
	j.kept, j.sizes, j.unwritten, j.outdated = map[string]version{}, map[string]int{}, map[string]entry.Record{}, map[string]struct{}{}
	j.rules = rules{}
	j.mu.Unlock()
	j.member.Namespace = ""
	if err := os.RemoveAll(j.directory); err != nil {
		return fmt.Errorf("removing the journal: %w", err)
	}
	return nil
}
