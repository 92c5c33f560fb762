package pods

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"

	"fairlead.dev/hub/people/pods/owned"
)

// How the pods of a cluster are followed.
const (
	// pause is the minimum interval between two lists of the pods, and longestPause the maximum retry delay.
	pause        = time.Second
	longestPause = 30 * time.Second
	// lookEvery is how often they are listed even without a change.
	lookEvery = time.Minute
	// maxRefusals is how many refusals in a row end the following: an API server that has just started may at first
	// refuse what it will allow.
	maxRefusals = 3
)

// follower follows the logs of one cluster.
type follower struct {
	*Logs
	cluster string
	// seen are the containers whose logs are or were followed.
	seen map[instance]*followed
	// ended receives when a log ends.
	ended chan struct{}
	// first says that no pods were listed yet. Late says that the application came to the cluster while others were
	// being followed, so its logs are read from the beginning. Down says that the last request to the cluster failed.
	first, late, down bool
	// refusals counts the refusals in a row.
	refusals int
	// crowded says that the limit on streams was reported.
	crowded bool
	group   sync.WaitGroup
	stop    context.CancelCauseFunc
}

// instance is one run of a container.
type instance struct {
	pod, container string
	restarts       int32
}

// followed is a log that is or was followed.
type followed struct {
	container
	mu sync.Mutex
	// active says that it is being read, and broken that it ended before the container did.
	active, broken bool
	// failed is how often in a row it could not be read, lastNote the last reason that was told, again when it is tried again.
	failed   int
	lastNote string
	again    time.Time
	// refusals is how often in a row it was refused, by the last of which.
	refusals int
	refusal  error
}

// follow follows the logs of one cluster until the context ends, the application has left the cluster, or access is
// refused.
func (l *Logs) follow(ctx context.Context, cluster string, late bool) error {
	ctx, stop := context.WithCancelCause(ctx)
	f := &follower{Logs: l, cluster: cluster, seen: map[instance]*followed{}, ended: make(chan struct{}, 1), first: true, late: late, stop: stop}
	defer f.group.Wait()
	defer stop(nil)
	rest := pause
	for ctx.Err() == nil {
		found, err := l.find(ctx, cluster)
		if ctx.Err() != nil {
			break
		}
		if f.hasLeft(&found, err) || f.refused(err) {
			return nil
		}
		if err != nil {
			f.reportDown(err)
			rest = min(2*rest, longestPause)
			f.sleep(ctx, wait.Jitter(rest, 1))
			continue
		}
		f.reportUp(&found)
		f.start(ctx, &found)
		begun := l.Clock.Now()
		changed := f.await(ctx, &found)
		if changed || l.Clock.Since(begun) > longestPause {
			rest = pause
		} else {
			rest = min(2*rest, longestPause)
		}
		f.sleep(ctx, rest)
	}
	var not readerError
	if cause := context.Cause(ctx); errors.As(cause, &not) {
		return cause
	}
	return nil
}

// refused says whether the person may not read the pods of a cluster, or any of their logs, and reports it. Following
// ends then; if access is granted later, the person has to start again.
func (f *follower) refused(err error) bool {
	if !apierrors.IsForbidden(err) {
		f.refusals = 0
	} else if f.refusals++; f.refusals < maxRefusals {
		return false
	}
	if f.refusals == 0 {
		err = f.refusalOfLogs()
	}
	if err == nil {
		return false
	}
	f.note(f.cluster, ErrorSentence(err)+"; its logs are not followed any more")
	f.places.refuse(f.cluster)
	return true
}

// refusalOfLogs returns why no log of a cluster may be read; nil if one is being read, or none was refused often
// enough.
func (f *follower) refusalOfLogs() (refusal error) {
	for _, one := range f.seen {
		one.mu.Lock()
		active, refusals, last := one.active, one.refusals, one.refusal
		one.mu.Unlock()
		if active {
			return nil
		}
		if refusals >= maxRefusals {
			refusal = last
		}
	}
	return refusal
}

// reportDown reports once that the cluster does not respond.
func (f *follower) reportDown(err error) {
	if !f.down {
		f.note(f.cluster, ErrorSentence(err)+"; trying again")
	}
	f.down = true
}

// reportUp reports once that the cluster responds again, and at first if there is nothing to follow.
func (f *follower) reportUp(found *Found) {
	if f.down {
		f.note(f.cluster, "it answers again")
	}
	f.down = false
	if f.first && len(found.Pods) == 0 {
		f.note(f.cluster, "it has no pods of it yet")
	}
}

// start follows the logs of containers that are not followed yet.
func (f *follower) start(ctx context.Context, found *Found) {
	now := f.Clock.Now()
	present := map[instance]bool{}
	active, left := 0, 0
	for _, one := range f.seen {
		if one.isActive() {
			active++
		}
	}
	for i := range found.Pods {
		p := &found.Pods[i]
		chosen, why := f.chosenContainers(p)
		if why != "" && f.first {
			f.note(f.cluster, why)
		}
		for _, c := range chosen {
			key := instance{p.UID, c.Name, c.Restarts}
			present[key] = true
			one := f.seen[key]
			if one == nil {
				one = &followed{container: container{cluster: f.cluster, name: c.Name, late: f.late || !f.first}}
			}
			if !one.isDue(c, now) {
				continue
			}
			if active >= maxStreams {
				left++
				continue
			}
			one.pod = p
			f.seen[key] = one
			active++
			f.run(ctx, one)
		}
	}
	for key, one := range f.seen {
		if !present[key] && !one.isActive() {
			delete(f.seen, key)
		}
	}
	if left > 0 && !f.crowded {
		f.note(f.cluster, fmt.Sprintf("%d more containers have logs; %d of a cluster are followed at once", left, maxStreams))
	}
	f.crowded, f.first = left > 0, false
}

func (o *followed) isActive() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.active
}

// isDue says whether to follow a container in this state now.
func (o *followed) isDue(c owned.Container, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.active && !now.Before(o.again) && (c.Running || c.Begun && !o.resumed || o.broken)
}

// run follows one log until it ends.
func (f *follower) run(ctx context.Context, one *followed) {
	one.mu.Lock()
	one.active = true
	one.mu.Unlock()
	f.group.Go(func() {
		before := one.last
		err := f.read(ctx, &one.container)
		if _, not := errors.AsType[readerError](err); not {
			f.stop(err)
		}
		one.mu.Lock()
		defer one.mu.Unlock()
		one.active, one.broken = false, err != nil
		if err == nil || one.last.After(before) {
			one.failed, one.lastNote = 0, ""
		}
		if apierrors.IsForbidden(err) {
			one.refusals, one.refusal = one.refusals+1, err
		} else {
			one.refusals = 0
		}
		rest := pause
		if err != nil {
			one.failed++
			rest = min(pause<<min(one.failed, 5), longestPause)
			// What breaks a line breaks all of its streams: that is said when the cluster is asked for its pods.
			if text := ErrorSentence(err); apierrors.ReasonForError(err) != "" && !f.isClusterError(err) && text != one.lastNote && ctx.Err() == nil {
				one.lastNote = text
				f.note(f.cluster, nameOf(one.pod, one.name)+": "+text)
			}
		}
		one.again = f.Clock.Now().Add(rest)
		select {
		case f.ended <- struct{}{}:
		default: // a signal is already pending
		}
	})
}

// isClusterError says whether an error concerns the whole cluster.
func (f *follower) isClusterError(err error) bool {
	return apierrors.IsServiceUnavailable(err) || apierrors.IsTimeout(err)
}

// sleep waits for a time, or until the context ends.
func (l *Logs) sleep(ctx context.Context, span time.Duration) {
	timer := l.Clock.NewTimer(span)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	}
}
