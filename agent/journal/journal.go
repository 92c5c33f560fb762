package journal

import (
	"context"
	"crypto/sha256"
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
	// replace and syncDir are those of atomicfile; tests have them fail.
	replace func(path string, text []byte) error
	syncDir func(path string) error

	// writing is held for reading by whoever writes a Work, and for writing by who writes
	// what could not be written before.
	writing sync.RWMutex

	mu sync.Mutex
	// kept is what of each Work is on disk, and sizes is how long its file is.
	kept  map[string]version
	sizes map[string]int
	// unwritten are the Works of which the disk does not have what it should.
	unwritten map[string]entry.Record
	// dirUnsynced says that names changed since the directory was last synced.
	dirUnsynced bool
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
}

func versionOf(r entry.Record) version {
	return version{
		uid: r.Work.UID, generation: r.Work.Generation, deleting: !r.Work.DeletionTimestamp.IsZero(), absent: r.Absent,
		annotations: sha256.Sum256(fmt.Append(nil, entry.Annotations(r.Work))), // maps are printed in order
	}
}

// Put keeps a Work as it is now. When it returns, the disk has this version or none.
func (j *Journal) Put(work *workv1alpha1.Work) { j.put(entry.Record{Work: work}) }

// Absent keeps a Work as one that the hub does not have any more, and never said to
// delete.
func (j *Journal) Absent(work *workv1alpha1.Work) { j.put(entry.Record{Work: work, Absent: true}) }

func (j *Journal) put(r entry.Record) {
	j.writing.RLock()
	defer j.writing.RUnlock()
	j.mu.Lock()
	known, ok := j.kept[r.Work.Name]
	delete(j.unwritten, r.Work.Name)
	j.mu.Unlock()
	if ok && known == versionOf(r) {
		return
	}
	r.Work = entry.Slim(r.Work)
	if err := j.write(r); err != nil {
		j.keepUnwritten(r, err)
	}
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
	j.dirUnsynced = true
	j.metrics.works.Set(float64(len(j.kept)))
	return nil
}

// keepUnwritten notes that a Work could not be written, and drops its older version.
func (j *Journal) keepUnwritten(r entry.Record, why error) {
	j.remove(r.Work.Name)
	j.mu.Lock()
	j.unwritten[r.Work.Name] = r
	j.mu.Unlock()
	j.fail(why)
}

// Remove forgets a Work.
func (j *Journal) Remove(work types.NamespacedName) {
	j.writing.RLock()
	defer j.writing.RUnlock()
	j.remove(work.Name)
}

func (j *Journal) remove(work string) {
	j.mu.Lock()
	_, ok := j.kept[work]
	delete(j.kept, work)
	delete(j.sizes, work)
	delete(j.unwritten, work)
	j.dirUnsynced = j.dirUnsynced || ok
	j.metrics.works.Set(float64(len(j.kept)))
	j.mu.Unlock()
	if !ok {
		return
	}
	if err := os.Remove(filepath.Join(j.directory, fileOf(work))); err != nil && !errors.Is(err, fs.ErrNotExist) {
		j.fail(err)
	}
}

// Erase removes all that is kept, and where the Works were.
func (j *Journal) Erase() error {
	j.writing.Lock()
	defer j.writing.Unlock()
	j.mu.Lock()
	j.kept, j.sizes, j.unwritten = map[string]version{}, map[string]int{}, map[string]entry.Record{}
	j.mu.Unlock()
	j.member.Namespace = ""
	if err := os.RemoveAll(j.directory); err != nil {
		return fmt.Errorf("removing the journal: %w", err)
	}
	return nil
}

// Start writes what could not be written before, as soon as it can, until the context
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

// retryUnwritten writes what could not be written before.
func (j *Journal) retryUnwritten() {
	j.writing.Lock()
	defer j.writing.Unlock()
	j.mu.Lock()
	unwritten := make([]entry.Record, 0, len(j.unwritten))
	for _, r := range j.unwritten {
		unwritten = append(unwritten, r)
	}
	failing := j.failing
	j.mu.Unlock()
	if err := j.writeMember(); err != nil {
		j.fail(err)
		return
	}
	for _, r := range unwritten {
		if err := j.write(r); err != nil {
			j.fail(err)
			return
		}
		j.mu.Lock()
		delete(j.unwritten, r.Work.Name)
		j.mu.Unlock()
	}
	if failing {
		if !j.syncNames() {
			return
		}
		j.mu.Lock()
		j.failing = false
		j.mu.Unlock()
		j.metrics.failing.Set(0)
		j.log.Info("Writing the journal again", "works", len(unwritten))
	}
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
		j.fail(err)
		return false
	}
	return true
}

// fail says, once until it works again, that the disk does not do as it should.
func (j *Journal) fail(err error) {
	j.mu.Lock()
	fresh := !j.failing
	j.failing = true
	j.mu.Unlock()
	j.metrics.failing.Set(1)
	if fresh {
		j.log.Error(err, "The journal cannot be written; without it, an agent that starts while the hub is away leaves these Works alone; free space or mend the directory, and it is tried again")
	}
}
