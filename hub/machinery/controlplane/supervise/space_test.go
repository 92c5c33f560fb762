package supervise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"fairlead.dev/hub/machinery/controlplane/args"
	"fairlead.dev/hub/machinery/controlplane/database"
	"fairlead.dev/hub/machinery/controlplane/datadir"
	"fairlead.dev/hub/machinery/controlplane/etcdtest"
)

// world is a data directory with an in-process etcd, and the messages about it.
type world struct {
	*testing.T
	dir    *datadir.Dir
	client *clientv3.Client
	room   *spaceReclaimer
	told   []string
	// admitted is how often everybody was let in.
	admitted int
}

func newWorld(t *testing.T, change ...func(*etcdtest.Options)) *world {
	t.Helper()
	dir, err := datadir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	o := etcdtest.Options{Run: dir.Run(), Data: dir.Etcd(), Socket: args.EtcdSocket, Quota: 16 << 20}
	for _, c := range change {
		c(&o)
	}
	_, client := etcdtest.Start(t, o)
	w := &world{T: t, dir: dir, client: client}
	w.room = &spaceReclaimer{
		dir:    dir,
		report: func(format string, values ...any) { w.told = append(w.told, fmt.Sprintf(format, values...)) },
		admit:  func() error { w.admitted++; return nil },
	}
	return w
}

// keep runs the upkeep once, and returns the messages and the space afterwards.
func (w *world) keep(starting bool) (string, database.Space) {
	w.Helper()
	w.told = nil
	if err := w.room.check(w.Context(), starting); err != nil {
		w.Fatal(err)
	}
	return strings.Join(w.told, "\n"), w.space()
}

func (w *world) space() database.Space {
	w.Helper()
	space, err := database.LookAtSpace(w.Context(), w.client, w.client.Endpoints()[0])
	if err != nil {
		w.Fatal(err)
	}
	return space
}

// put writes this many kilobytes, and returns whether there was room for them.
func (w *world) put(key string, size int) bool {
	w.Helper()
	_, err := w.client.Put(w.Context(), key, strings.Repeat("v", size<<10))
	if err != nil && !errors.Is(err, rpctypes.ErrNoSpace) {
		w.Fatal(err)
	}
	return err == nil
}

// awaits waits for a state that etcd reaches by itself.
func (w *world) awaits(check func(Gomega)) {
	w.Helper()
	NewWithT(w).Eventually(check).WithTimeout(time.Minute).WithPolling(10 * time.Millisecond).Should(Succeed())
}

func (w *world) remove(from, to string) {
	w.Helper()
	if _, err := w.client.Delete(w.Context(), from, clientv3.WithRange(to)); err != nil {
		w.Fatal(err)
	}
}

func key(n int) string { return fmt.Sprintf("kept-%04d", n) }

// TestHowFullTheDatabaseIsIsWrittenDown covers the file from which the hub reports to Prometheus.
func TestHowFullTheDatabaseIsIsWrittenDown(t *testing.T) {
	w := newWorld(t)
	w.put(key(0), 300)
	_, now := w.keep(false)
	var written struct{ Size, InUse, Quota int64 }
	data, err := os.ReadFile(filepath.Join(w.dir.Run(), "database.json"))
	if err == nil {
		err = json.Unmarshal(data, &written)
	}
	if err != nil {
		t.Fatal(err)
	}
	if written.Quota != now.Quota || written.InUse <= 0 || written.Size < written.InUse {
		t.Errorf("written %+v of %+v", written, now)
	}

	// Of an external etcd the fullest member counts; members that do not report a quota do not.
	fullest := database.Space{}
	for _, space := range []database.Space{{InUse: 9}, {InUse: 1, Quota: 4}, {InUse: 3, Quota: 8}, {InUse: 1, Quota: 8}} {
		if space.IsFuller(fullest) {
			fullest = space
		}
	}
	if fullest.InUse != 3 {
		t.Errorf("%+v is the fullest", fullest)
	}
	w.room.writeSpaceFile(database.Space{})
	if _, err := os.Stat(filepath.Join(w.dir.Run(), "database.json")); !os.IsNotExist(err) {
		t.Errorf("what is not known any more is still told: %v", err)
	}
}

func TestAFullDatabaseRecoversWhenPeopleDelete(t *testing.T) {
	w := newWorld(t)
	n, told := 0, ""
	for size := 300; !strings.Contains(told, "the database is full"); n++ {
		if !w.put(key(n), size) {
			size = 50
			told, _ = w.keep(true)
		}
	}
	if w.admitted == 0 || !w.room.isFull {
		t.Fatal("nobody is let in who can delete something")
	}
	if told, _ := w.keep(false); told != "" {
		t.Errorf("told again %s", told)
	}

	// Little by little, as people do who do not know how much is enough.
	before := w.space()
	if want := fmt.Sprintf("fewer than %d MB of its 16 MB", before.Enough()>>20); !strings.Contains(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	again, removed := 0, 0
	for ; ; removed++ {
		w.remove(key(removed), key(removed+1))
		told, now := w.keep(false)
		if strings.Contains(told, "the database takes writes again") {
			break
		}
		if strings.Contains(told, "the database is full") {
			again++
		}
		if now.InUse < now.Enough() {
			t.Fatalf("%+v has enough room: %s", now, told)
		}
	}
	if again == 0 && removed > 0 || w.room.isFull { // depending on how the pages are laid out, removing one object may be enough
		t.Errorf("told %d times what is left to do, after %d were removed in vain", again, removed)
	}
	if !w.put("more", 1) {
		t.Error("it is full")
	}
	if w.dir.IsShrinking() {
		t.Error("it is done")
	}
}

func TestATryThatDidNotEndIsNotMadeAtEachStart(t *testing.T) {
	w := newWorld(t)
	for n := range 80 {
		w.put(key(n), 100)
	}
	w.remove(key(0), key(70))
	var before database.Space
	w.awaits(func(g Gomega) {
		before = w.space()
		_, err := w.client.Compact(t.Context(), before.Revision, clientv3.WithCompactPhysical())
		g.Expect(err).To(Or(Succeed(), MatchError(rpctypes.ErrCompacted)))
		w.put("any", 1)
		g.Expect(before.IsWasteful() && !before.IsShort()).To(BeTrue(), "%+v", before)
	})
	if err := w.dir.BeginShrinking(); err != nil { // and the hub is killed
		t.Fatal(err)
	}
	told, after := w.keep(true)
	if after.Size < before.Size || !strings.Contains(told, "Remove "+w.dir.ShrinkingMark()) {
		t.Errorf("told %q, %+v", told, after)
	}
	if !w.dir.IsShrinking() {
		t.Error("the next start does not know")
	}

	if err := os.Remove(filepath.Join(w.dir.Root(), "shrinking")); err != nil {
		t.Fatal(err)
	}
	told, after = w.keep(true)
	if after.Size >= before.Size/2 || w.dir.IsShrinking() {
		t.Errorf("told %q, %+v", told, after)
	}

	// If it takes no writes, the hub has no choice.
	for w.put("changing", 1000) {
	}
	if err := w.dir.BeginShrinking(); err != nil {
		t.Fatal(err)
	}
	if told, after = w.keep(true); after.Full || w.dir.IsShrinking() {
		t.Errorf("told %q, %+v", told, after)
	}
}

func TestNoMarkIsLeftOfWhatWasNotBegun(t *testing.T) {
	w := newWorld(t)
	w.put("some", 1)
	short := w.space()
	short.Size = short.Quota // etcd does not report this, so that reclaim waits for pages to become empty
	for name, after := range map[string]time.Duration{
		"before old revisions are dropped":       0,
		"while their pages are counted as empty": time.Second / 2,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		defer cancel()
		if _, err := w.room.reclaim(ctx, w.client, short, true); err == nil || ctx.Err() == nil {
			t.Errorf("%s: it went on: %v", name, err)
		}
		if w.dir.IsShrinking() {
			t.Errorf("%s: the hub ended, and the file is never made smaller again", name)
		}
	}
}

func TestAHubThatRunsDropsOldRevisionsOnceAfterATryThatDidNotEnd(t *testing.T) {
	w := newWorld(t, func(o *etcdtest.Options) { o.CommitsEach = true }) // otherwise it is full before it counts as short of space
	for !w.space().IsShort() {
		w.put("changing", 100) // with larger values the next write may fill it, after which nothing can be freed
	}
	if err := w.dir.BeginShrinking(); err != nil { // and the hub is killed
		t.Fatal(err)
	}
	w.room.lastRevision = w.space().Revision
	told, after := w.keep(false)
	if after.Full || !strings.Contains(told, "Remove "+w.dir.ShrinkingMark()) {
		t.Errorf("told %q, %+v", told, after)
	}
	w.awaits(func(g Gomega) { // pages count as empty only some commits after the one that freed them
		w.put("any", 1)
		g.Expect(w.space().InUse).To(BeNumerically("<=", after.Quota/2))
	})
	if _, after = w.keep(false); !w.room.hasTried(after) {
		t.Error("each look would drop them again")
	}
}
