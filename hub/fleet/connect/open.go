package connect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
)

// reviewEvery is the interval at which the rights of open requests are reviewed.
const reviewEvery = time.Minute

// openRequest is an open request of an operator.
type openRequest struct {
	who     caller
	cluster string
	verbs   []string
	began   time.Time
	cut     context.CancelCauseFunc
}

// openRequests holds the open requests, and the channels that wait for changes of Clusters. It is safe for concurrent
// use.
type openRequests struct {
	mu       sync.Mutex
	all      map[*openRequest]struct{}
	watchers map[string]map[chan struct{}]struct{}
}

func (o *openRequests) add(r *openRequest) (remove func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all[r] = struct{}{}
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.all, r)
	}
}

// watch returns a channel that receives when a Cluster, or one of its lines at another replica, changes.
func (o *openRequests) watch(cluster string) (changed chan struct{}, stop func()) {
	changed = make(chan struct{}, 1)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.watchers == nil {
		o.watchers = map[string]map[chan struct{}]struct{}{}
	}
	if o.watchers[cluster] == nil {
		o.watchers[cluster] = map[chan struct{}]struct{}{}
	}
	o.watchers[cluster][changed] = struct{}{}
	return changed, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.watchers[cluster], changed)
		if len(o.watchers[cluster]) == 0 {
			delete(o.watchers, cluster)
		}
	}
}

// changed notifies the channels that wait for changes of a Cluster and of its lines at other replicas.
func (o *openRequests) changed(cluster string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for to := range o.watchers[cluster] {
		select {
		case to <- struct{}{}:
		default:
		}
	}
}

// FollowClusters ends the lines of Clusters that are deleted.
func (s *Server) FollowClusters() cache.ResourceEventHandler {
	nameOf := func(obj any) (string, bool) {
		if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = gone.Obj
		}
		cluster, ok := obj.(*clusterv1alpha1.Cluster)
		if !ok {
			return "", false
		}
		return cluster.Name, true
	}
	changed := func(before, after any) {
		old, had := before.(*clusterv1alpha1.Cluster)
		cluster, has := after.(*clusterv1alpha1.Cluster)
		if !had || !has {
			return
		}
		same := func(key string) bool { return old.Annotations[key] == cluster.Annotations[key] }
		// Changes of the status are frequent and do not matter.
		if old.UID != cluster.UID || old.DeletionTimestamp.IsZero() != cluster.DeletionTimestamp.IsZero() ||
			!same(contract.RetiredAnnotation) || !same(contract.JoinedAnnotation) {
			s.open.changed(cluster.Name)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		UpdateFunc: changed,
		DeleteFunc: func(obj any) {
			if name, ok := nameOf(obj); ok {
				for _, l := range s.Lines.Forget(name) {
					_ = l.Client.Close() // an error only means that the line has ended
				}
			}
		},
	}
}

// reviewRights periodically ends open requests whose operator has lost the right to make them, until the context ends.
func (s *Server) reviewRights(ctx context.Context) {
	ticker := s.Clock.NewTicker(reviewEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			s.reviewOnce(ctx, reviewEvery/2)
		}
	}
}

// reviewOnce reviews the requests that have been open for that long: one access review for each user, cluster and verb.
func (s *Server) reviewOnce(ctx context.Context, open time.Duration) {
	now := s.Clock.Now()
	s.open.mu.Lock()
	all := make([]*openRequest, 0, len(s.open.all))
	for r := range s.open.all {
		if now.Sub(r.began) >= open {
			all = append(all, r)
		}
	}
	s.open.mu.Unlock()
	known := map[string]bool{}
	for _, r := range all {
		for _, verb := range r.verbs {
			key := r.key(verb)
			may, asked := known[key]
			if !asked {
				var err error
				may, err = s.Review(ctx, r.who.may(verb, contract.ConnectClustersResource, contract.ProxySubresource, r.cluster))
				may = may || err != nil // if the API server does not respond, the request goes on
				known[key] = may
			}
			if !may {
				s.Log.Info("Ending a request, its operator has no right to it any more", "Cluster", r.cluster, "user", r.who.name)
				r.cut(errRightGone)
				break
			}
		}
	}
}

// key identifies the access review of a request.
func (r *openRequest) key(verb string) string {
	groups := slices.Sorted(slices.Values(r.who.groups))
	keys := make([]string, 0, len(r.who.extra))
	for key, values := range r.who.extra {
		keys = append(keys, fmt.Sprintf("%q=%q", key, values))
	}
	slices.Sort(keys)
	return fmt.Sprintf("%q %q %q %q %q %s", verb, r.cluster, r.who.name, r.who.uid, groups, strings.Join(keys, ","))
}
