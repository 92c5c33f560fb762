package journal

import (
	"context"
	"errors"
	"maps"
	"slices"

	"fairlead.dev/agent/journal/entry"
)

// Start retries failed writes and removals, and syncs the directory, until the context ends.
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

// retryUnwritten retries failed removals, then failed writes, those of Works last.
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
		_ = j.removeFile(work) // a file that is still there is replaced or counted below
	}
	if err := errors.Join(j.writeMember(), j.rules.retry(j), j.kinds.retry(j), j.deletions.retry(j)); err != nil {
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

// isOutdated says whether the disk has outdated versions of Works.
func (j *Journal) isOutdated() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.outdated) > 0
}

// syncNames syncs the directory, so that renames and removals survive a power loss. It returns false if that failed.
func (j *Journal) syncNames() bool {
	j.syncing.Lock()
	defer j.syncing.Unlock()
	j.mu.Lock()
	needed := j.dirUnsynced
	j.dirUnsynced = false // a change from here on needs another sync
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

// reportFailure logs that the journal cannot be written, once until it can be written again.
func (j *Journal) reportFailure(err error) {
	j.mu.Lock()
	fresh := !j.failing
	j.failing = true
	j.mu.Unlock()
	j.metrics.failing.Set(1)
	if fresh {
		j.log.Error(err, "The journal cannot be written; without it, an agent that starts while the hub is away leaves these Works alone; free space or repair the directory, and the agent tries again")
	}
}
