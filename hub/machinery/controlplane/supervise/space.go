package supervise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"fairlead.dev/hub/machinery/controlplane/args"
	"fairlead.dev/hub/machinery/controlplane/atomicfile"
	"fairlead.dev/hub/machinery/controlplane/database"
	"fairlead.dev/hub/machinery/controlplane/datadir"
)

// spaceReclaimer keeps etcd's database below its quota: it compacts old revisions, defragments the file, and disarms the NOSPACE alarm. An
// etcd that has reached its quota refuses writes until the alarm is disarmed, even after a restart. kube-apiserver's own compaction, every
// few minutes, does not help then, since it begins with a write.
type spaceReclaimer struct {
	dir    *datadir.Dir
	etcd   args.ExternalEtcd
	client *clientv3.Client // nil unless the etcd is external
	report Report
	// admit opens the API to everybody before the hub is ready. The hub has to write before it is ready, and only people can free space in a
	// full database.
	admit func() error
	// lastFormat is the format of the last report. A report of the same format with other numbers is not repeated.
	lastFormat string
	// lastRevision is etcd's revision at the last check. inUseAfterReclaim and inUseAtReport are bytes in use: after space was last
	// reclaimed, and when people were last told that the database is full.
	lastRevision, inUseAfterReclaim, inUseAtReport int64
	// isFull says that the database took no writes at the end of the last check.
	isFull bool
}

// keepTimeout bounds one check, so that a database that does not answer does not keep later checks from happening.
const keepTimeout = 10 * time.Minute

// hasTried says whether space was already reclaimed from a database that was as large: doing it again would gain nothing.
func (m *spaceReclaimer) hasTried(now database.Space) bool {
	return m.inUseAfterReclaim > 0 && difference(now.InUse, m.inUseAfterReclaim) < now.Quota/20
}

func difference(a, b int64) int64 { return max(a-b, b-a) }

// errUnfinished says that a database which still takes writes is not defragmented: an earlier defragmentation did not end, and another
// might not either.
var errUnfinished = errors.New("dropping its empty pages did not end before")

// memberTimeout bounds a request for the size of one member's database.
const memberTimeout = 2 * time.Second

// deleteSomething tells people how to free space in the database.
const deleteSomething = "delete what nobody needs, most of all large ConfigMaps, Secrets and other templates; " +
	"`kubectl get --raw /metrics | grep ^apiserver_resource` counts the objects of each kind"

// check looks how full the database is, and reclaims space if it is nearly full; at a start also if its file is mostly empty pages. An
// external etcd is skipped at a start, since openStore has just checked it.
func (m *spaceReclaimer) check(ctx context.Context, starting bool) error {
	if m.etcd.Used() {
		if !starting {
			m.checkExternal(ctx)
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, keepTimeout)
	defer cancel()
	client, err := database.Connect(ctx, m.dir)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	before, err := database.LookAtSpace(ctx, client, client.Endpoints()[0])
	if err != nil {
		return err
	}
	after, err := m.reclaim(ctx, client, before, starting)
	if err == nil {
		m.writeSpaceFile(after)
	} else {
		m.writeSpaceFile(before)
	}
	m.isFull = after.Full || before.Full && err != nil
	err = m.reportOutcome(before, after, err)
	if m.isFull {
		err = errors.Join(err, m.admit())
	}
	return err
}

// reclaim compacts and defragments the database if it is nearly full, or, at a start, if its file is mostly empty pages. It returns the
// space afterwards.
func (m *spaceReclaimer) reclaim(ctx context.Context, client *clientv3.Client, before database.Space, starting bool) (database.Space, error) {
	since := m.lastRevision
	m.lastRevision = before.Revision
	switch {
	case before.Full, starting && (before.IsShort() || before.IsWasteful()):
		since = before.Revision // reads and watches of older revisions are stale in any case
	case starting, !before.IsShort(), since == 0, m.hasTried(before):
		return before, nil
	}
	if !before.Full {
		// Nobody is answered while empty pages are dropped: on a disk so slow that the hub gives up meanwhile, each start would end in that.
		switch unfinished := m.dir.IsShrinking(); {
		case unfinished && starting:
			return before, errUnfinished
		case unfinished:
			after, err := database.MakeRoom(ctx, client, since, func(int64) error { return errUnfinished })
			return m.noteReclaimed(after, err)
		}
	} else if m.lastFormat == "" {
		m.reportOnce("the database has reached the %d MB that it may have, and nothing is written: dropping old revisions and empty pages", before.Quota>>20)
	}
	after, err := database.MakeRoom(ctx, client, since, func(size int64) error {
		if err := datadir.CheckFreeSpace(m.dir.Etcd(), size); err != nil {
			return err
		}
		return m.dir.BeginShrinking() // not before: a hub that ends while old revisions are dropped was in no endless try
	})
	if err == nil {
		err = m.dir.EndShrinking()
	}
	return m.noteReclaimed(after, err)
}

// noteReclaimed records how much is in use after an attempt, even one that gained nothing, so that hasTried can tell that another would not either.
func (m *spaceReclaimer) noteReclaimed(after database.Space, err error) (database.Space, error) {
	if err == nil || errors.Is(err, errUnfinished) {
		m.inUseAfterReclaim = after.InUse
	}
	return after, err
}

// reportOutcome reports the result to people, and returns an error if the check itself failed.
func (m *spaceReclaimer) reportOutcome(before, after database.Space, err error) error {
	switch {
	case errors.Is(err, datadir.ErrDiskFull):
		m.reportOnce("the file of the database, of %d MB, of which %d MB are in use, cannot be made smaller: %v; at %d MB nothing is written any more",
			after.Size>>20, after.InUse>>20, err, after.Quota>>20)
		return nil
	case errors.Is(err, errUnfinished):
		m.reportOnce("the file of the database, of %d MB, of which %d MB are in use, is not made smaller: that was begun before and did not end, because the disk is slow or "+
			"the hub was killed; at %d MB nothing is written until it is done. Remove %s and start the hub again to have it tried again",
			after.Size>>20, after.InUse>>20, after.Quota>>20, m.dir.ShrinkingMark())
		return nil
	case err != nil:
		return fmt.Errorf("making room in the database: %w", err)
	case after.Full:
		if difference(after.InUse, m.inUseAtReport) >= after.Quota/100 {
			m.lastFormat, m.inUseAtReport = "", after.InUse
		}
		m.reportOnce("the database is full: nothing is written until fewer than %d MB of its %d MB are in use, and %d MB are: %s. What is deleted counts within a minute",
			after.Enough()>>20, after.Quota>>20, after.InUse>>20, deleteSomething)
	case before.Full:
		m.reportOnce("the database takes writes again: %d MB of %d MB are in use", after.InUse>>20, after.Quota>>20)
	case after.IsFilling():
		m.reportOnce("the database has filled more than 80 %% of the %d MB that it may have, beyond which nothing is written: %s", after.Quota>>20, deleteSomething)
	default:
		m.lastFormat = ""
	}
	return nil
}

// checkExternal tells the operator of an external etcd when it is full or nearly full. It frees nothing there, since the etcd may also
// serve others. Members that refuse the request or do not answer are skipped.
func (m *spaceReclaimer) checkExternal(ctx context.Context) {
	var fullest database.Space
	defer func() { m.writeSpaceFile(fullest) }()
	for _, member := range m.etcd.Servers {
		space, err := m.spaceOf(ctx, member)
		if err == nil && space.IsFuller(fullest) {
			fullest = space
		}
		switch {
		case err != nil:
			continue
		case space.Full:
			m.reportOnce("the etcd that --etcd-servers names is full, and no hub can work or start: drop old revisions (etcdctl compact), defragment each member "+
				"(etcdctl defrag), and say so (etcdctl alarm disarm); if too much is left, start its members with a larger --quota-backend-bytes, "+
				"say so (etcdctl alarm disarm), start a hub, and %s", deleteSomething)
			return
		case space.IsFilling():
			m.reportOnce("%s of --etcd-servers has filled more than 80 %% of the %d MB that it may have, beyond which nothing is written: %s", member, space.Quota>>20, deleteSomething)
			return
		}
	}
	m.lastFormat = ""
}

// writeSpaceFile writes the state of the database to a file that the hub's metrics are read from; it removes the file if the quota is
// unknown. A failure to write only loses a metric, so it is ignored.
func (m *spaceReclaimer) writeSpaceFile(space database.Space) {
	if m.dir == nil {
		return // at a start, when there is no hub yet
	}
	if space.Quota == 0 {
		_ = os.Remove(m.dir.SpaceFile())
		return
	}
	if data, err := json.Marshal(space); err == nil {
		_ = atomicfile.Write(m.dir.SpaceFile(), data)
	}
}

func (m *spaceReclaimer) spaceOf(ctx context.Context, member string) (database.Space, error) {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	return database.LookAtSpace(ctx, m.client, member)
}

func (m *spaceReclaimer) reportOnce(format string, values ...any) {
	if format != m.lastFormat {
		m.lastFormat = format
		m.report(format, values...)
	}
}
