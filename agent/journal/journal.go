package journal

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
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

// version tells two versions of a Work apart, as far as the journal is concerned.
type version struct {
	uid        types.UID
	generation int64
	deleting   bool
	absent     bool
	// annotations is a digest: a change of them is no other generation.
	annotations [sha256.Size]byte
	// content is a digest of what the Work asks for: a hub that was restored from a backup gives a generation out a second time.
	content [sha256.Size]byte
}

func versionOf(r entry.Record) version {
	return version{
		uid: r.Work.UID, generation: r.Work.Generation, deleting: !r.Work.DeletionTimestamp.IsZero(), absent: r.Absent,
		annotations: sha256.Sum256(fmt.Append(nil, entry.Annotations(r.Work))), // maps are printed in order
		content:     digestOf(r.Work.Spec),
	}
}

// digestOf returns the same for a Work as it is read from a file as for the one that was written there, for which it goes by the same
// encoding. What cannot be encoded is in no file.
func digestOf(spec workv1alpha1.WorkSpec) [sha256.Size]byte {
	text, err := json.Marshal(spec)
	if err != nil {
		return [sha256.Size]byte{}
	}
	return sha256.Sum256(text)
}

// Put keeps a Work as it is now, and says whether the disk has this version or none. If it does not, it has an older one that
// could be neither replaced nor removed so far.
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
	if ok && known == versionOf(r) {
		return true
	}
	r.Work = entry.Slim(r.Work)
	if err := j.write(r); err != nil {
		return j.keepUnwritten(r, err)
	}
	return true
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

// Start writes and removes what could not be before, as soon as it can, until the context
// ends.
func (j *Journal) Start(ctx context.Context) error {
	retry := j.clock.Now().Add(retryEvery)
	for {
		select {
		case <-ctx.Done():
			j.syncNames()
			return nil
		case <-j.clock.After(syncEvery):
		}
		j.syncNames()
		if now := j.clock.Now(); !now.Before(retry) {
			retry = now.Add(retryEvery)
			j.retryUnwritten()
		}
	}
}

// retryUnwritten removes what could not be removed before, and writes what could not be written.
func (j *Journal) retryUnwritten() {
	j.writing.Lock()
	defer j.writing.Unlock()
	j.mu.Lock()
	unwritten := make([]entry.Record, 0, len(j.unwritten))
	for _, r := range j.unwritten {
		unwritten = append(unwritten, r)
	}
	outdated := slices.Collect(maps.Keys(j.outdated))
	failing := j.failing
	j.mu.Unlock()
	for _, work := range outdated {
		_ = j.removeFile(work) // what is still there is replaced, or counted below
	}
	if err := errors.Join(j.writeMember(), j.retryRules()); err != nil {
		j.reportFailure(err)
		return
	}
	for _, r := range unwritten {
		if err := j.write(r); err != nil {
			j.reportFailure(err)
			return
		}
		j.mu.Lock()
		delete(j.unwritten, r.Work.Name)
		j.mu.Unlock()
	}
	if !failing || !j.syncNames() || j.isOutdated() {
		return
	}
	j.mu.Lock()
	j.failing = false
	j.mu.Unlock()
	j.metrics.failing.Set(0)
	j.log.Info("Writing the journal again", "works", len(unwritten))
}

// isOutdated says whether the disk has older versions of Works.
func (j *Journal) isOutdated() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.outdated) > 0
}

// syncNames has what was renamed and removed outlast a loss of power. It says whether it does.
func (j *Journal) syncNames() bool {
	j.mu.Lock()
	needed := j.dirUnsynced
	j.dirUnsynced = false // what changes from here on needs another sync
	j.mu.Unlock()
	if !needed {
		return true
	}
	if err := j.syncDir(j.directory); err != nil {
		j.mu.Lock()
		j.dirUnsynced = true
		j.mu.Unlock()
		j.reportFailure(err)
		return false
	}
	return true
}

// reportFailure says, once until it works again, that the disk does not do as it should.
func (j *Journal) reportFailure(err error) {
	j.mu.Lock()
	fresh := !j.failing
	j.failing = true
	j.mu.Unlock()
	j.metrics.failing.Set(1)
	if fresh {
		j.log.Error(err, "The journal cannot be written; without it, an agent that starts while the hub is away leaves these Works alone; free space or mend the directory, and it is tried again")
	}
}
