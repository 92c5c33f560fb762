package pods

import (
	"context"
	"io"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
)

// await waits until the pods of a cluster have changed or a log has ended, and says whether that happened. It returns
// early if the watch fails.
func (f *follower) await(ctx context.Context, found *Found) bool {
	ctx, cancel := context.WithCancel(ctx)
	changed := make(chan bool, 1)
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		if err := f.watch(ctx, found); err == nil || !isRefused(err) {
			changed <- err == nil
		}
	}()
	defer func() { cancel(); <-watching }()
	timer := f.Clock.NewTimer(wait.Jitter(f.until(), 0.1))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
		return true
	case <-f.ended:
		return true
	case <-f.places.leaving(f.cluster):
		return true
	case yes := <-changed:
		return yes
	}
	return false
}

// until returns how long to wait if nothing happens.
func (f *follower) until() time.Duration {
	out, now := lookEvery, f.Clock.Now()
	for _, one := range f.seen {
		one.mu.Lock()
		if !one.active && one.again.After(now) {
			out = min(out, one.again.Sub(now))
		}
		one.mu.Unlock()
	}
	return out
}

// isRefused says whether pods may only be listed there, and not watched.
func isRefused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err) || apierrors.IsNotFound(err)
}

// watch returns nil once a pod that may belong to the application has changed.
func (f *follower) watch(ctx context.Context, found *Found) error {
	query := url.Values{"watch": {"true"}, "resourceVersion": {found.version}}
	if found.selector != "" {
		query.Set("labelSelector", found.selector)
	}
	if f.App.Resource == podsResource {
		query.Set("fieldSelector", "metadata.name="+f.App.Name)
	}
	path := "/api/v1/namespaces/" + f.App.Namespace + "/pods"
	const asEvents = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	body, err := member{f.Members, f.cluster}.open(ctx, path, query, asEvents)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	_, err = io.ReadFull(body, make([]byte, 1))
	return err
}
