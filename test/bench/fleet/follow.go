package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"sigs.k8s.io/controller-runtime/pkg/client"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/revision"
)

// follower watches every write of one staged rollout: its Works and its status.
type follower struct {
	key client.ObjectKey

	mu       sync.Mutex
	works    map[string]workSeen
	writes   []workWrite
	status   fairleadv1alpha1.StagedRolloutStatus
	statuses []statusWrite
	// unreported is the number of Works whose agent has not reported on their content, and most its maximum since
	// lookAtMost.
	unreported, most int
	// ended is the error that ended the watch.
	ended error
}

// workSeen is the last state of a Work.
type workSeen struct {
	generation  int64
	annotations map[string]string
	reported    bool
}

// has returns the revision of the content.
func (w workSeen) has() revision.ID {
	return revision.Parse(w.annotations[contract.RevisionAnnotation])
}

// workWrite is one write of a Work other than its status.
type workWrite struct {
	at      time.Time
	cluster string
	has     revision.ID
}

// statusWrite is one write of the status of the rollout.
type statusWrite struct {
	at         time.Time
	revision   int64
	catchingUp int
}

// follow follows the rollout of a binding until the context ends.
func (s *system) follow(ctx context.Context, key client.ObjectKey) (*follower, error) {
	f := &follower{key: key, works: map[string]workSeen{}}
	for _, of := range []struct {
		list client.ObjectList
		see  func(watch.EventType, client.Object)
	}{
		{&workv1alpha1.WorkList{}, f.seeWork},
		{&fairleadv1alpha1.StagedRolloutList{}, f.seeStatus},
	} {
		w, err := s.hubClient.Watch(ctx, of.list) // without a resourceVersion, so that existing objects come first
		if err != nil {
			return nil, fmt.Errorf("watching a rollout: %w", err)
		}
		go func() {
			for version := ""; err == nil; {
				if version, err = takeEvents(w, version, f.locked(of.see)); err == nil {
					w, err = s.watchAgain(ctx, of.list, version)
				}
			}
			f.mu.Lock()
			f.ended = fmt.Errorf("watching a rollout: %w", err)
			f.mu.Unlock()
		}()
	}
	return f, nil
}

// locked returns a handler of events that holds the lock.
func (f *follower) locked(see func(watch.EventType, client.Object)) func(watch.EventType, client.Object) {
	return func(what watch.EventType, obj client.Object) {
		f.mu.Lock()
		defer f.mu.Unlock()
		see(what, obj)
	}
}

func (f *follower) seeWork(what watch.EventType, obj client.Object) {
	work, ok := obj.(*workv1alpha1.Work)
	if !ok {
		return
	}
	cluster, ok := contract.ClusterOf(contract.DefaultExecutionNamespacePrefix, work.Namespace)
	if key, named := bindings.KeyOf(work); !ok || !named || key != f.key {
		return
	}
	before, known := f.works[cluster]
	if known && !before.reported {
		f.unreported--
	}
	if what == watch.Deleted {
		delete(f.works, cluster)
		return
	}
	now := workSeen{work.Generation, work.Annotations, work.Status.ObservedGeneration == work.Generation}
	f.works[cluster] = now
	if !now.reported {
		f.unreported++
		f.most = max(f.most, f.unreported)
	}
	if !known || before.generation != now.generation || !maps.Equal(before.annotations, now.annotations) {
		f.writes = append(f.writes, workWrite{time.Now(), cluster, now.has()})
	}
}

func (f *follower) seeStatus(_ watch.EventType, obj client.Object) {
	rollout, ok := obj.(*fairleadv1alpha1.StagedRollout)
	if !ok || client.ObjectKeyFromObject(rollout) != f.key {
		return
	}
	f.status = rollout.Status
	busy := 0
	for _, group := range f.status.Clusters {
		if group.State == fairleadv1alpha1.ClusterCatchingUp && group.Reason == "" {
			busy += len(group.Names)
		}
	}
	f.statuses = append(f.statuses, statusWrite{time.Now(), f.status.Revision, busy})
}

// await waits until a condition holds.
func (f *follower) await(ctx context.Context, what string, is func() bool) error {
	for began := time.Now(); ; {
		f.mu.Lock()
		done, ended, status := is(), f.ended, f.status
		f.mu.Unlock()
		switch {
		case done:
			return nil
		case ended != nil:
			return ended
		case time.Since(began) > waitTimeout:
			return fmt.Errorf("after %s not yet: %s (r%d is %s, wave %q: %+v)", waitTimeout, what, status.Revision, status.Phase, status.Wave, status.Waves)
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// at reports whether the newest revision has this number and phase. Call it from await.
func (f *follower) at(number int64, phase fairleadv1alpha1.RolloutPhase) bool {
	return f.status.Revision == number && f.status.Phase == phase
}

// have returns the number of clusters with this content whose agents have reported it. Call it from await.
func (f *follower) have(hash string) int {
	n := 0
	for _, w := range f.works {
		if w.reported && w.has().Hash == hash {
			n++
		}
	}
	return n
}

// hashOf returns the hash of a revision. Call it from await.
func (f *follower) hashOf(number int64) string {
	for _, r := range f.status.Revisions {
		if r.Number == number {
			return r.Hash
		}
	}
	return ""
}

// revision returns the newest revision.
func (f *follower) revision() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status.Revision
}

// writesSince returns the writes of Works since a time.
func (f *follower) writesSince(at time.Time) []workWrite {
	f.mu.Lock()
	defer f.mu.Unlock()
	i, _ := slices.BinarySearchFunc(f.writes, at, func(w workWrite, at time.Time) int { return w.at.Compare(at) })
	return slices.Clone(f.writes[i:])
}

// statusesSince returns the writes of the status since a time.
func (f *follower) statusesSince(at time.Time) []statusWrite {
	f.mu.Lock()
	defer f.mu.Unlock()
	i, _ := slices.BinarySearchFunc(f.statuses, at, func(w statusWrite, at time.Time) int { return w.at.Compare(at) })
	return slices.Clone(f.statuses[i:])
}

// lookAtMost resets the maximum of unreported Works, which mostUnreported returns.
func (f *follower) lookAtMost() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.most = f.unreported
}

func (f *follower) mostUnreported() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.most
}
