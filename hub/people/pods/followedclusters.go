package pods

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// placesEvery is how often the clusters of a followed application are read.
const placesEvery = 5 * time.Second

// theHub is the source of messages about which clusters have an application.
const theHub = "the hub"

// followedClusters are the clusters whose logs are followed. It is safe for concurrent use.
type followedClusters struct {
	mu sync.Mutex
	// followed are the followed clusters.
	followed map[string]*followedCluster
}

// followedCluster is a cluster that is followed.
type followedCluster struct {
	// there says whether the cluster is still a target of the application.
	there bool
	// left receives when it is no longer a target.
	left chan struct{}
	// refused says that following it ended because access was refused.
	refused bool
}

// add adds a cluster, and says whether it was not followed yet.
func (p *followedClusters) add(cluster string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.followed[cluster] != nil {
		return false
	}
	p.followed[cluster] = &followedCluster{there: true, left: make(chan struct{}, 1)}
	return true
}

// set sets the present targets of the application.
func (p *followedClusters) set(clusters []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, one := range p.followed {
		was := one.there
		one.there = slices.Contains(clusters, name)
		if !was || one.there {
			continue
		}
		select {
		case one.left <- struct{}{}:
		default: // a signal is already pending
		}
	}
}

// leaving returns a channel that receives when a followed cluster is no longer a target.
func (p *followedClusters) leaving(cluster string) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.followed[cluster].left
}

// hasLeft says whether a cluster is no longer a target, and stops following it if so.
func (p *followedClusters) hasLeft(cluster string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.followed[cluster].there {
		return false
	}
	delete(p.followed, cluster)
	return true
}

// refuse marks a cluster as refused; it is not followed again.
func (p *followedClusters) refuse(cluster string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.followed[cluster].refused = true
}

// refusals returns how many clusters were refused, and whether all were.
func (p *followedClusters) refusals() (refused int, all bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.followed {
		if one.refused {
			refused++
		}
	}
	return refused, refused > 0 && refused == len(p.followed)
}

// followAll follows the logs of these clusters, and of those to which the application comes later, until the context
// ends or all of them refuse. It returns how many did.
func (l *Logs) followAll(ctx context.Context, clusters []string) (refused int, err error) {
	l.places = &followedClusters{followed: map[string]*followedCluster{}}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	g, gctx := errgroup.WithContext(ctx)
	begin := func(name string, late bool) {
		g.Go(func() error {
			err := l.follow(gctx, name, late)
			if _, all := l.places.refusals(); all {
				stop()
			}
			return err
		})
	}
	for _, name := range clusters {
		l.places.add(name)
	}
	for _, name := range clusters {
		begin(name, false)
	}
	if l.Places != nil {
		g.Go(func() error {
			if err := l.followPlaces(gctx, func(name string) { begin(name, true) }); err != nil {
				l.note(theHub, ErrorSentence(err)+"; the logs are not followed any more")
				stop()
			}
			return nil
		})
	}
	err = g.Wait()
	refused, _ = l.places.refusals()
	return refused, err
}

// followPlaces starts to follow clusters to which the application comes, until the context ends. If the hub refuses to
// list them, it returns that error.
func (l *Logs) followPlaces(ctx context.Context, begin func(cluster string)) error {
	unknown, refusals := false, 0
	for {
		l.sleep(ctx, placesEvery)
		now, err := l.Places(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // The caller canceled it.
		}
		if err != nil {
			if refusals++; !apierrors.IsForbidden(err) {
				refusals = 0
			}
			if refusals >= maxRefusals {
				return err
			}
			if !unknown {
				l.note(theHub, ErrorSentence(err)+"; new clusters of the application are not followed until this is known again")
			}
			unknown = true
			continue
		}
		if unknown {
			l.note(theHub, "the clusters of the application are known again")
		}
		unknown, refusals = false, 0
		l.places.set(now)
		for _, name := range now {
			if l.places.add(name) {
				l.note(name, "the application has a new cluster; its logs are followed too")
				begin(name)
			}
		}
	}
}

// hasLeft says whether the application has left a cluster and nothing of it remains there, and reports it. Remaining
// pods are followed, as are those of a cluster that does not respond, whose pods are unknown.
func (f *follower) hasLeft(found *Found, err error) bool {
	nothing := err == nil && len(found.Pods) == 0 || apierrors.IsNotFound(err)
	if !nothing || f.anyActive() || !f.places.hasLeft(f.cluster) {
		return false
	}
	f.note(f.cluster, "the application has left the cluster; its logs are no longer followed")
	return true
}

func (f *follower) anyActive() bool {
	for _, one := range f.seen {
		if one.isActive() {
			return true
		}
	}
	return false
}
