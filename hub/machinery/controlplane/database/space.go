package database

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Space is how much of what it may have a database has taken. The file of etcd never becomes smaller by itself: what is deleted leaves pages
// that etcd fills again, but counts.
type Space struct {
	// Size is that of the file, InUse what of it holds something, old revisions included, and Quota how large it may become.
	Size  int64 `json:"size"`
	InUse int64 `json:"inUse"`
	Quota int64 `json:"quota"`
	// Revision is the one of now.
	Revision int64 `json:"-"`
	// Full says that nothing is written any more until somebody says that there is room again.
	Full bool `json:"-"`
}

// IsFuller says that less is left of it than of another one. What does not say how much it may have is never fuller.
func (s Space) IsFuller(other Space) bool {
	return s.Quota > 0 && (other.Quota == 0 || float64(s.InUse)/float64(s.Quota) > float64(other.InUse)/float64(other.Quota))
}

// IsShort says that the database had better have room made before it is full.
func (s Space) IsShort() bool { return s.Full || s.Size >= s.Quota-s.Quota/10 }

// IsWasteful says that so much of the file is empty that a start, when nobody waits for the database yet, is the time to drop it.
func (s Space) IsWasteful() bool { return s.Size-s.InUse >= s.Quota/4 }

// IsFilling says that people had better delete something. An etcd before 3.6 does not say how much it may have.
func (s Space) IsFilling() bool { return s.Quota > 0 && s.InUse >= s.Quota-s.Quota/5 }

// shrinks says that it is worth the while for which nobody is answered.
func (s Space) shrinks() bool { return s.Size-s.InUse >= s.Quota/20 }

// takesWrites says that the database would not be full again at once.
func (s Space) takesWrites() bool { return s.Size <= s.Quota-s.Quota/20 }

// Enough is below how many bytes in use a full database takes writes again, however large its file is: either that is small enough, or so much
// of it is empty that it is worth dropping, and what is left of it is.
func (s Space) Enough() int64 { return s.Quota - s.Quota/10 }

// LookAtSpace asks one member of a database.
func LookAtSpace(ctx context.Context, client *clientv3.Client, member string) (Space, error) {
	status, err := client.Status(ctx, member)
	if err != nil {
		return Space{}, fmt.Errorf("asking the database for its size: %w", err)
	}
	full, err := fullMembers(ctx, client)
	return Space{Size: status.DbSize, InUse: status.DbSizeInUse, Quota: status.DbSizeQuota, Revision: status.Header.Revision, Full: len(full) > 0}, err
}

// fullMembers returns the members that have raised etcd's NOSPACE alarm.
func fullMembers(ctx context.Context, client *clientv3.Client) ([]*clientv3.AlarmMember, error) {
	all, err := client.AlarmList(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking the database whether it is full: %w", err)
	}
	var out []*clientv3.AlarmMember
	for _, member := range all.Alarms {
		if member.Alarm == etcdserverpb.AlarmType_NOSPACE {
			out = append(out, (*clientv3.AlarmMember)(member))
		}
	}
	return out, nil
}

// How long etcd may take to count pages as empty that a compaction has freed.
const (
	settlePoll  = 100 * time.Millisecond
	settleTries = 20
)

// spaceAfterCompaction is how much there is after a compaction.
func spaceAfterCompaction(ctx context.Context, client *clientv3.Client, member string) (space Space, err error) {
	for range settleTries {
		if space, err = LookAtSpace(ctx, client, member); err != nil || space.shrinks() {
			break
		}
		if err = forceCommit(ctx, client); err != nil {
			break
		}
		select {
		case <-ctx.Done():
			return space, ctx.Err()
		case <-time.After(settlePoll):
		}
	}
	return space, err
}

// forceCommit has etcd write something to its file, even if the database is full: the entry of its member once more, as it is. What a commit frees
// is counted as empty two commits later, or after more of them if somebody reads meanwhile; in a full database nobody else writes, and
// questions are no writes.
func forceCommit(ctx context.Context, client *clientv3.Client) error {
	members, err := client.MemberList(ctx)
	if err != nil {
		return fmt.Errorf("asking the database for its member: %w", err)
	}
	for _, member := range members.Members {
		if _, err := client.MemberUpdate(ctx, member.ID, member.PeerURLs); err != nil {
			return fmt.Errorf("writing the entry of the database's member once more: %w", err)
		}
	}
	return nil
}

// MakeRoom drops the revisions of a database with one member that are older than one, and its empty pages if there is room for a copy of
// what is left. Then it takes writes again unless too much is left. It returns what it has then; the error may be that of hasRoom. Whoever
// reads or watches at a revision that is dropped has to begin anew.
func MakeRoom(ctx context.Context, client *clientv3.Client, revision int64, hasRoom func(size int64) error) (Space, error) {
	member := client.Endpoints()[0]
	if _, err := client.Compact(ctx, revision, clientv3.WithCompactPhysical()); err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		return Space{}, fmt.Errorf("dropping old revisions: %w", err)
	}
	space, err := spaceAfterCompaction(ctx, client, member)
	if err != nil {
		return space, err
	}
	if space.shrinks() {
		if err := hasRoom(space.InUse); err != nil {
			return space, err
		}
		if _, err := client.Defragment(ctx, member); err != nil {
			return space, fmt.Errorf("dropping pages that were freed: %w", err)
		}
		if space, err = LookAtSpace(ctx, client, member); err != nil {
			return space, err
		}
	}
	if !space.Full || !space.takesWrites() {
		return space, nil
	}
	full, err := fullMembers(ctx, client)
	if err != nil {
		return space, err
	}
	for _, m := range full {
		if _, err := client.AlarmDisarm(ctx, m); err != nil {
			return space, fmt.Errorf("telling the database that it has room again: %w", err)
		}
	}
	space.Full = false
	return space, nil
}
