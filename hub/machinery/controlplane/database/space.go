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

// Space is the space that a database uses. The file of etcd never shrinks by itself: deleted data leaves free pages,
// which etcd reuses but counts.
type Space struct {
	// Size is that of the file, InUse is how much of it is used, including old revisions, and Quota is the maximum
	// size.
	Size  int64 `json:"size"`
	InUse int64 `json:"inUse"`
	Quota int64 `json:"quota"`
	// Revision is the current revision.
	Revision int64 `json:"-"`
	// Full says that the NOSPACE alarm is raised: nothing is written until somebody clears it.
	Full bool `json:"-"`
}

// IsFuller says whether a greater share of the quota is used than in another database. One without a quota is never
// fuller.
func (s Space) IsFuller(other Space) bool {
	return s.Quota > 0 && (other.Quota == 0 || float64(s.InUse)/float64(s.Quota) > float64(other.InUse)/float64(other.Quota))
}

// IsShort says whether space should be freed before the database is full.
func (s Space) IsShort() bool { return s.Full || s.Size >= s.Quota-s.Quota/10 }

// IsWasteful says whether so much of the file is free that it should be defragmented at the start, when nobody uses the
// database yet.
func (s Space) IsWasteful() bool { return s.Size-s.InUse >= s.Quota/4 }

// IsFilling says whether people should delete something. An etcd before 3.6 does not report its quota.
func (s Space) IsFilling() bool { return s.Quota > 0 && s.InUse >= s.Quota-s.Quota/5 }

// shrinks says whether defragmentation is worth the time during which requests are blocked.
func (s Space) shrinks() bool { return s.Size-s.InUse >= s.Quota/20 }

// takesWrites says whether the database would not be full again at once.
func (s Space) takesWrites() bool { return s.Size <= s.Quota-s.Quota/20 }

// Enough is the use in bytes below which a full database can be made to accept writes again, whatever the size of its
// file: either the file is small enough, or enough of it is free to be worth defragmenting, and the rest is small
// enough.
func (s Space) Enough() int64 { return s.Quota - s.Quota/10 }

// LookAtSpace reads the space of one member of a database.
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

// How long etcd may take to count pages as free that a compaction has freed.
const (
	settlePoll  = 100 * time.Millisecond
	settleTries = 20
)

// spaceAfterCompaction returns the space after a compaction.
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

// forceCommit makes etcd commit to its file, even if the database is full, by updating its member entry without a
// change. Freed pages count as free two commits later, or more if somebody reads in between; in a full database nobody
// else writes, and reads are no commits.
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

// MakeRoom compacts a database with one member at a revision, and defragments it if there is disk space for a copy.
// Then it clears the alarm unless too much is still used. It returns the space afterwards; the error may be that of
// hasRoom. Clients that read or watch at a compacted revision must start over.
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
