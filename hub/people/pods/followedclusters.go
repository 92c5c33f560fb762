package pods

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// placesEvery is how often it is asked in which clusters an application is whose logs are followed.
const placesEvery = 5 * time.Second

// theHub names the hub as the source of messages about which clusters have an application.
const theHub = "the hub"

// followedClusters are the clusters of an application whose logs are followed. It is safe for use by many goroutines.
type followedClusters struct {
	mu sync.Mutex
	// followed are the clusters that are followed.
	followed map[string]*followedCluster
}

// followedCluster is a cluster that is followed.
type followedCluster struct {
	// there says whether the application is to be there still.
	there bool
	// left gets something when it is not any more.
	left chan struct{}
	// refused says that it is not followed since that was refused.
	refused bool
}

// add says that a cluster is to be followed, and whether it was not.
func (p *followedClusters) add(cluster string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.followed[cluster] != nil {
		return false
	}
	p.followed[cluster] = &followedCluster{there: true, left: make(chan struct{}, 1)}
	return true
}

// set says where the application is now.
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
		default: // it was told already
		}
	}
}

// leaving is told when the application is not to be in a cluster any more that is followed.
func (p *followedClusters) leaving(cluster string) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.followed[cluster].left
}

// hasLeft says whether the application has left a cluster, which is not followed any more then.
func (p *followedClusters) hasLeft(cluster string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.followed[cluster].there {
		return false
	}
	delete(p.followed, cluster)
	return true
}

// refuse says that a cluster is not followed any more since that was refused; it is not begun again.
func (p *followedClusters) refuse(cluster string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.followed[cluster].refused = true
}

// refusals is how many clusters are not followed since that was refused, and whether there is no other.
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

// followAll follows the logs of these clusters, and of those to which the application comes later, until the context ends or all of
// them refuse. It returns how many did.
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

// followPlaces begins to follow the clusters to which the application comes, until the context ends, or the hub refuses to say them:
// that it returns.
func (l *Logs) followPlaces(ctx context.Context, begin func(cluster string)) error {
	unknown, refusals := false, 0
	for {
		l.sleep(ctx, placesEvery)
		now, err := l.Places(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // The caller ended it.
		}
		if err != nil {
			if refusals++; !apierrors.IsForbidden(err) {
				refusals = 0
			}
			if refusals >= maxRefusals {
				return err
			}
			if !unknown {
				l.note(theHub, ErrorSentence(err)+"; clusters to which the application comes are not followed until this is known again")
			}
			unknown = true
			continue
		}
		if unknown {
			l.note(theHub, "it is known again in which clusters the application is")
		}
		unknown, refusals = false, 0
		l.places.set(now)
		for _, name := range now {
			if l.places.add(name) {
				l.note(name, "the application has come to it; its logs are followed too")
				begin(name)
			}
		}
	}
}

// hasLeft says whether a cluster has nothing of the application any more because that has left it, and tells people. As long as
// there are pods they are followed, as are those of a cluster that does not answer: nobody knows what is there.
func (f *follower) hasLeft(found *Found, err error) bool {
	nothing := err == nil && len(found.Pods) == 0 || apierrors.IsNotFound(err)
	if !nothing || f.anyActive() || !f.places.hasLeft(f.cluster) {
		return false
	}
	f.note(f.cluster, "the application has left it; its logs are not followed any more")
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
