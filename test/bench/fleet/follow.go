package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"sigs.k8s.io/controller-runtime/pkg/client"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/revision"
)

// follower sees every write of one staged rollout: of its Works, and of its status.
type follower struct {
	key client.ObjectKey

	mu       sync.Mutex
	works    map[string]workSeen
	writes   []workWrite
	status   fairleadv1alpha1.StagedRolloutStatus
	statuses []statusWrite
	// unreported is how many Works have content of which their agent has not told yet, and most the
	// most that there were since lookAtMost.
	unreported, most int
	// ended is why nothing more is seen.
	ended error
}

// workSeen is how a Work was last.
type workSeen struct {
	generation  int64
	annotations map[string]string
	reported    bool
}

// has is the revision of its content.
func (w workSeen) has() revision.ID {
	return revision.Parse(w.annotations[contract.RevisionAnnotation])
}

// workWrite is one write of a Work that is none of its status.
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
		see  func(watch.EventType, any)
	}{
		{&workv1alpha1.WorkList{}, f.seeWork},
		{&fairleadv1alpha1.StagedRolloutList{}, f.seeStatus},
	} {
		w, err := s.hubClient.Watch(ctx, of.list) // from no version on, so that what is there is shown first
		if err != nil {
			return nil, fmt.Errorf("watching a rollout: %w", err)
		}
		go func() {
			for version := ""; err == nil; {
				if version, err = f.see(w, version, of.see); err == nil {
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

// watchAgain goes on watching where a watch ended: the server ends those that do not keep up, and a connection may be
// lost. No write is to be missed.
func (s *system) watchAgain(ctx context.Context, list client.ObjectList, version string) (watch.Interface, error) {
	for {
		w, err := s.hubClient.Watch(ctx, list, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version}})
		if err == nil || isOver(err) {
			return w, err //nolint:wrapcheck // The caller says what it was for.
		}
		if err := pause(ctx, time.Second); err != nil {
			return nil, err
		}
	}
}

// isOver says whether the server does not know any more what came after a version.
func isOver(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// see takes what a watch shows until it ends, and returns the version of the last.
func (f *follower) see(w watch.Interface, version string, take func(watch.EventType, any)) (string, error) {
	defer w.Stop()
	for event := range w.ResultChan() {
		if event.Type == watch.Error {
			if err := apierrors.FromObject(event.Object); isOver(err) {
				return version, err //nolint:wrapcheck // The caller says what it was for.
			}
			return version, nil
		}
		if obj, ok := event.Object.(client.Object); ok {
			version = obj.GetResourceVersion()
		}
		f.mu.Lock()
		take(event.Type, event.Object)
		f.mu.Unlock()
	}
	return version, nil
}

func (f *follower) seeWork(what watch.EventType, obj any) {
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

func (f *follower) seeStatus(_ watch.EventType, obj any) {
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

// await returns when what was seen is as asked for.
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

// at says whether the newest revision is this one and in a phase. Call it from await.
func (f *follower) at(number int64, phase fairleadv1alpha1.RolloutPhase) bool {
	return f.status.Revision == number && f.status.Phase == phase
}

// have is how many clusters have content, and their agents told of it. Call it from await.
func (f *follower) have(hash string) int {
	n := 0
	for _, w := range f.works {
		if w.reported && w.has().Hash == hash {
			n++
		}
	}
	return n
}

// hashOf is that of a revision. Call it from await.
func (f *follower) hashOf(number int64) string {
	for _, r := range f.status.Revisions {
		if r.Number == number {
			return r.Hash
		}
	}
	return ""
}

// revision is the newest one.
func (f *follower) revision() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status.Revision
}

// writesSince are those of Works from a time on.
func (f *follower) writesSince(at time.Time) []workWrite {
	f.mu.Lock()
	defer f.mu.Unlock()
	i, _ := slices.BinarySearchFunc(f.writes, at, func(w workWrite, at time.Time) int { return w.at.Compare(at) })
	return slices.Clone(f.writes[i:])
}

// statusesSince are those of the status from a time on.
func (f *follower) statusesSince(at time.Time) []statusWrite {
	f.mu.Lock()
	defer f.mu.Unlock()
	i, _ := slices.BinarySearchFunc(f.statuses, at, func(w statusWrite, at time.Time) int { return w.at.Compare(at) })
	return slices.Clone(f.statuses[i:])
}

// lookAtMost forgets how many Works were not reported on at a time; mostUnreported says it.
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
