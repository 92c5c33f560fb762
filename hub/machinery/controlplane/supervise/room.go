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

// spaceReclaimer has the database take writes. An etcd that has reached its quota refuses them until somebody says that there is room again, even
// after a restart, and kube-apiserver, which drops old revisions every few minutes, writes first.
type spaceReclaimer struct {
	dir    *datadir.Dir
	etcd   args.ExternalEtcd
	client *clientv3.Client // of an etcd of somebody else's
	report Report
	// admit lets everybody in though the hub is not ready: it writes before it is, and in a full database only people can make room.
	admit func() error
	// lastFormat is what was told last: the same again, with other numbers, is no news.
	lastFormat string
	// lastRevision is the revision of the last look, left what was in use after room was made last, and told what was in use when it was told last
	// that the database is full.
	lastRevision, inUseAfterReclaim, inUseAtReport int64
	// isFull says that the last look found, or left, a database to which nothing is written.
	isFull bool
}

// keepTimeout bounds one look: a database that does not answer is no reason never to look again.
const keepTimeout = 10 * time.Minute

// hasTried says that room was made already of what there is now: nothing more would come of it.
func (m *spaceReclaimer) hasTried(now database.Space) bool {
	return m.inUseAfterReclaim > 0 && difference(now.InUse, m.inUseAfterReclaim) < now.Quota/20
}

func difference(a, b int64) int64 { return max(a-b, b-a) }

// errUnfinished says that the empty pages of a database that takes writes stay: dropping them did not end before, and might never.
var errUnfinished = errors.New("dropping its empty pages did not end before")

// memberTimeout is how long a member of an etcd may take to say how much it has.
const memberTimeout = 2 * time.Second

// deleteSomething is what people can do.
const deleteSomething = "delete what nobody needs, most of all large ConfigMaps, Secrets and other templates; " +
	"`kubectl get --raw /metrics | grep ^apiserver_resource` counts the objects of each kind"

// check looks at the database and makes room if it is short of it. At a start it also does so for pages that are merely empty; an etcd of
// somebody else's was looked at then when it was connected to.
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

// reclaim makes room if the database is short of it, or, at a start, if its file is wasteful.
func (m *spaceReclaimer) reclaim(ctx context.Context, client *clientv3.Client, before database.Space, starting bool) (database.Space, error) {
	since := m.lastRevision
	m.lastRevision = before.Revision
	switch {
	case before.Full, starting && (before.IsShort() || before.IsWasteful()):
		since = before.Revision // who reads and watches what is older is behind in any case
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

// noteReclaimed notes how much is in use once room was made, though nothing may have come of it: then nothing would the next time.
func (m *spaceReclaimer) noteReclaimed(after database.Space, err error) (database.Space, error) {
	if err == nil || errors.Is(err, errUnfinished) {
		m.inUseAfterReclaim = after.InUse
	}
	return after, err
}

// reportOutcome tells what people have to know, and returns what failed.
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

// checkExternal says what its operator has to do, who may have other things in that etcd than a hub. An etcd that does not let the hub ask
// is left alone, and nobody waits for a member that is down.
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

// writeSpaceFile writes down how full the database is, for the hub. What cannot be written is a number that Prometheus misses; of a database that
// does not say how much it may have there is none.
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
