package detector

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/kube"
	"fairlead.dev/hub/detector/bind"
	"fairlead.dev/hub/detector/claim"
)

// How often to ask for a kind that the API does not serve: the delay doubles.
const (
	firstAsk = 250 * time.Millisecond
	lastAsk  = 10 * time.Second
)

// How long to wait for the first list of a kind: the longer it has not come, the
// longer. Most come within milliseconds, some never do.
const (
	firstLook = 10 * time.Millisecond
	lastLook  = 10 * time.Second
)

// kinds are the kinds whose templates are watched, as metadata only. It is safe for use by many goroutines.
type kinds struct {
	informers *kube.MetadataInformers
	reader    client.Reader
	mapper    meta.RESTMapper
	queue     *queue
	clock     clock.PassiveClock
	// written are templates as we wrote them, until the watch shows them.
	written *kube.Written[request, *metav1.PartialObjectMetadata]

	// starting is held while a watch starts or stops.
	starting sync.Mutex
	// mu guards what is below. Readers of a cache hold it, so that no informer is
	// removed below them and made again by the read.
	mu      sync.RWMutex
	watched map[schema.GroupVersionKind]*watchedKind
	asked   map[schema.GroupVersionKind]int
}

// watchedKind is a kind with its informer.
type watchedKind struct {
	informer   cache.Informer
	handler    toolscache.ResourceEventHandlerRegistration
	namespaced bool
	since      time.Time
}

func newKinds(informers *kube.MetadataInformers, reader client.Reader, mapper meta.RESTMapper, q *queue, now clock.PassiveClock) *kinds {
	return &kinds{
		informers: informers, reader: reader, mapper: mapper, queue: q, clock: now,
		written: kube.NewWritten[request, *metav1.PartialObjectMetadata](now),
		watched: map[schema.GroupVersionKind]*watchedKind{},
		asked:   map[schema.GroupVersionKind]int{},
	}
}

// isUnserved says whether an error of ensure means that the API has no such kind yet.
func isUnserved(err error) bool { return meta.IsNoMatchError(err) }

// ensure watches a kind, and says whether its objects have a namespace. The error is
// isUnserved if the API has no such kind.
func (k *kinds) ensure(ctx context.Context, kind schema.GroupVersionKind) (namespaced bool, err error) {
	if w := k.get(kind); w != nil {
		return w.namespaced, nil
	}
	k.starting.Lock()
	defer k.starting.Unlock()
	if w := k.get(kind); w != nil {
		return w.namespaced, nil
	}
	mapping, err := kube.Mapping(k.mapper, kind)
	if err != nil {
		return false, err
	}
	informer, err := k.informers.Hold(ctx, kind)
	if err != nil {
		return false, err
	}
	registration, err := informer.AddEventHandler(k.events(kind))
	if err != nil {
		return false, errors.Join(fmt.Errorf("watching kind %q: %w", kind, err), k.informers.LetGo(ctx, kind))
	}
	w := &watchedKind{
		informer: informer, handler: registration,
		namespaced: mapping.Scope.Name() == meta.RESTScopeNameNamespace,
		since:      k.clock.Now(),
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.watched[kind] = w
	delete(k.asked, kind)
	return w.namespaced, nil
}

// stop ends the watch of a kind and reports whether there was one.
func (k *kinds) stop(ctx context.Context, kind schema.GroupVersionKind) (bool, error) {
	k.starting.Lock()
	defer k.starting.Unlock()
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.asked, kind)
	w, ok := k.watched[kind]
	if !ok {
		return false, nil
	}
	if err := w.informer.RemoveEventHandler(w.handler); err != nil {
		return false, fmt.Errorf("ending the watch of kind %q: %w", kind, err)
	}
	if err := k.informers.LetGo(ctx, kind); err != nil {
		return false, err
	}
	delete(k.watched, kind)
	return true, nil
}

// askAgain returns when to ask again for a kind that is not served.
func (k *kinds) askAgain(kind schema.GroupVersionKind) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := k.asked[kind]
	delay := min(firstAsk<<n, lastAsk)
	if delay < lastAsk {
		k.asked[kind] = n + 1
	}
	return delay
}

// untilSynced returns when to look again whether the first list of a kind is here.
func (k *kinds) untilSynced(kind schema.GroupVersionKind) time.Duration {
	w := k.get(kind)
	if w == nil {
		return firstLook
	}
	return lookAgain(k.clock.Since(w.since))
}

func lookAgain(waited time.Duration) time.Duration { return min(max(waited/8, firstLook), lastLook) }

// all returns the kinds that are watched.
func (k *kinds) all() []schema.GroupVersionKind {
	k.mu.RLock()
	defer k.mu.RUnlock()
	out := make([]schema.GroupVersionKind, 0, len(k.watched))
	for kind := range k.watched {
		out = append(out, kind)
	}
	return out
}

func (k *kinds) get(kind schema.GroupVersionKind) *watchedKind {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.watched[kind]
}

// availability is what can be said of a template from its cache.
type availability int

const (
	unwatched availability = iota
	syncing
	gone
	present
)

// template returns the metadata of a template, to be changed at will, if it is
// present.
func (k *kinds) template(ctx context.Context, req request) (*metav1.PartialObjectMetadata, availability, error) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	w, ok := k.watched[req.Kind]
	switch {
	case !ok:
		return nil, unwatched, nil
	case !w.informer.HasSynced():
		return nil, syncing, nil
	case !w.namespaced && req.Namespace != "":
		return nil, gone, nil
	}
	t := kube.MetadataOf(req.Kind)
	err := k.reader.Get(ctx, types.NamespacedName{Namespace: req.Namespace, Name: req.Name}, t)
	if client.IgnoreNotFound(err) != nil {
		return nil, gone, fmt.Errorf("reading %s %q: %w", req.Kind.Kind, req.Name, err)
	}
	t, ok = k.written.Latest(req, t, err == nil)
	if !ok {
		return nil, gone, nil
	}
	return t, present, nil
}

// each calls a function with the templates of a kind that the cache has, in one
// namespace or in all; the function must not change them. What the cache does not
// have yet comes as an event.
func (k *kinds) each(
	ctx context.Context, kind schema.GroupVersionKind, namespace string, visit func(*metav1.PartialObjectMetadata),
) error {
	k.mu.RLock()
	defer k.mu.RUnlock()
	w, ok := k.watched[kind]
	if !ok || !w.informer.HasSynced() {
		return nil
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind)
	if err := k.reader.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing kind %q: %w", kind, err)
	}
	for i := range list.Items {
		visit(&list.Items[i])
	}
	return nil
}

// events turns what the watch shows into requests.
func (k *kinds) events(kind schema.GroupVersionKind) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			t, ok := obj.(*metav1.PartialObjectMetadata)
			if !ok {
				return
			}
			req := requestFor(kind, t)
			k.written.Seen(req, t)
			if initial {
				k.queue.last(req)
			} else {
				k.queue.now(req)
			}
		},
		UpdateFunc: func(before, after any) {
			old, ok := before.(*metav1.PartialObjectMetadata)
			if !ok {
				return
			}
			t, ok := after.(*metav1.PartialObjectMetadata)
			if !ok {
				return
			}
			req := requestFor(kind, t)
			k.written.Seen(req, t)
			if bind.Fingerprint(old) != bind.Fingerprint(t) {
				k.queue.now(req)
			}
			if claimed(old) && !claimed(t) {
				k.queue.last(request{Kind: kind})
			}
		},
		DeleteFunc: func(obj any) {
			if tombstone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = tombstone.Obj
			}
			t, ok := obj.(*metav1.PartialObjectMetadata)
			if !ok {
				return
			}
			req := requestFor(kind, t)
			k.written.Gone(req, t)
			k.queue.now(req)
			if claimed(t) {
				k.queue.last(request{Kind: kind})
			}
		},
	}
}

func requestFor(kind schema.GroupVersionKind, obj metav1.Object) request {
	return request{Kind: kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

func claimed(obj metav1.Object) bool {
	_, ok := claim.On(obj)
	return ok
}
