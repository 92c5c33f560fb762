package detector

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	toolscache "k8s.io/client-go/tools/cache"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/bindings"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/watchset"
	"fairlead.dev/hub/flow/detector/claim"
)

// How often to look whether the API serves, by now, what it did not: the delay grows from the one to the other with the time
// since the last such kind was asked for.
const (
	askSoon  = time.Second
	askAgain = 10 * time.Second
)

// kinds are the kinds whose templates are watched, as metadata only. It is safe for use by many goroutines.
type kinds struct {
	*watchset.Set

	queue *queue
	// written are templates as we wrote them, until the watch shows them.
	written *kube.Written[request, *metav1.PartialObjectMetadata]

	// mu guards what is below.
	mu sync.Mutex
	// unserved are kinds that the API did not serve when they were asked for. It is asked for all of them at once: one policy can
	// name thousands.
	unserved sets.Set[schema.GroupVersionKind]
	// since is when the last of them came.
	since time.Time
	// lost are kinds whose watch ended since they are not served any more, of which nobody was told yet.
	lost sets.Set[schema.GroupVersionKind]
}

func newKinds(deps watchset.Deps, q *queue) *kinds {
	k := &kinds{
		queue: q, written: kube.NewWritten[request, *metav1.PartialObjectMetadata](deps.Clock), unserved: sets.Set[schema.GroupVersionKind]{},
		lost: sets.Set[schema.GroupVersionKind]{},
	}
	deps.Handler, deps.Indexers = k.events, toolscache.Indexers{claimIndex: claimOf}
	deps.Unserved = func(kind schema.GroupVersionKind) {
		k.lose(kind)
		q.last(request{Kind: kind})
	}
	k.Set = watchset.New(deps)
	return k
}

// ensure watches a kind, and says whether its objects have a namespace. The error is
// kube.IsUnserved if the API has no such kind; it is asked for then when the API has.
func (k *kinds) ensure(ctx context.Context, kind schema.GroupVersionKind) (namespaced bool, err error) {
	namespaced, err = k.Ensure(ctx, kind)
	switch {
	case err == nil:
		k.forget(kind)
		k.takeLost(kind) // it is back
	case kube.IsUnserved(err) && k.note(kind):
		k.queue.after(askSoon, request{})
	}
	return namespaced, err
}

// note notes that a kind is not served, and says whether that is new.
func (k *kinds) note(kind schema.GroupVersionKind) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.unserved.Has(kind) {
		return false
	}
	k.unserved.Insert(kind)
	k.since = k.Clock.Now()
	return true
}

// keep does so without a reason to look sooner.
func (k *kinds) keep(kind schema.GroupVersionKind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.unserved.Insert(kind)
}

func (k *kinds) forget(kind schema.GroupVersionKind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.unserved.Delete(kind)
}

// recheck returns the kinds that were not served and are by now, and when to look again if some are left. Those that nobody needs
// any more are forgotten.
func (k *kinds) recheck(
	ctx context.Context, needed func(context.Context, schema.GroupVersionKind) (bool, error),
) (served []schema.GroupVersionKind, again time.Duration, err error) {
	k.mu.Lock()
	unserved, waited := k.unserved.UnsortedList(), k.Clock.Since(k.since)
	k.mu.Unlock()
	for _, kind := range unserved {
		k.forget(kind) // first, so that whoever begins to need it meanwhile notes it anew
		wanted, err := needed(ctx, kind)
		switch {
		case err != nil:
			k.keep(kind)
			return served, again, err
		case !wanted:
		case k.Served.Check(ctx, kind) == nil:
			served = append(served, kind)
		default: // what the API does not say now it says later
			k.keep(kind)
			again = max(askSoon, watchset.LookAgain(waited))
		}
	}
	return served, again, nil
}

// read returns the metadata of a template as the watch of one version shows it, or as we wrote it, to be changed at will; nil if
// there is none.
func (k *kinds) read(ctx context.Context, req request) (t *metav1.PartialObjectMetadata, listing watchset.Listing, err error) {
	listing, err = k.Read(req.Kind, func(from client.Reader, namespaced bool) error {
		if !namespaced && req.Namespace != "" {
			return nil
		}
		found := kube.MetadataOf(req.Kind)
		err := from.Get(ctx, types.NamespacedName{Namespace: req.Namespace, Name: req.Name}, found)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading %s %q: %w", req.Kind.Kind, req.Name, err)
		}
		if found, ok := k.written.Latest(req, found, err == nil); ok {
			t = found
		}
		return nil
	})
	return t, listing, err
}

// each calls a function with the templates of a kind that the cache has, in one
// namespace or in all; the function must not change them. What the cache does not
// have yet comes as an event.
func (k *kinds) each(kind schema.GroupVersionKind, namespace string, visit func(*metav1.PartialObjectMetadata)) error {
	return k.visit(kind, visit, func(store toolscache.Indexer) ([]any, error) {
		if namespace == "" {
			return store.List(), nil
		}
		return store.ByIndex(toolscache.NamespaceIndex, namespace)
	})
}

// eachNamed does so with those templates of a kind that have a name, in whatever namespace.
func (k *kinds) eachNamed(kind schema.GroupVersionKind, name string, visit func(*metav1.PartialObjectMetadata)) error {
	return k.visit(kind, visit, func(store toolscache.Indexer) ([]any, error) { return ofName(store, name) })
}

// ofName returns what a store has of a name. It looks once for each namespace, of which there are few.
func ofName(store toolscache.Indexer, name string) ([]any, error) {
	var found []any
	for _, namespace := range store.ListIndexFuncValues(toolscache.NamespaceIndex) {
		obj, there, err := store.GetByKey(toolscache.NewObjectName(namespace, name).String())
		if err != nil {
			return nil, err
		}
		if there {
			found = append(found, obj)
		}
	}
	return found, nil
}

// eachOf does so with those templates of a kind that carry the claim of a policy.
func (k *kinds) eachOf(kind schema.GroupVersionKind, policy claim.Claim, visit func(*metav1.PartialObjectMetadata)) error {
	return k.visit(kind, visit, func(store toolscache.Indexer) ([]any, error) { return store.ByIndex(claimIndex, policy.Key()) })
}

// visit calls a function with what is found in the store of a kind. Nothing is copied for it: there may be tens of
// thousands of templates.
func (k *kinds) visit(
	kind schema.GroupVersionKind, visit func(*metav1.PartialObjectMetadata), find func(toolscache.Indexer) ([]any, error),
) error {
	_, err := k.ReadStore(kind, func(store toolscache.Indexer) error {
		found, err := find(store)
		if err != nil {
			return fmt.Errorf("listing kind %q: %w", kind, err)
		}
		for _, obj := range found {
			if t, ok := obj.(*metav1.PartialObjectMetadata); ok {
				visit(t)
			}
		}
		return nil
	})
	return err
}

// anyClaimed says whether a template of a kind that the cache has is claimed.
func (k *kinds) anyClaimed(kind schema.GroupVersionKind) bool {
	found := false
	// Nothing fails here, and what is not listed yet is not claimed as far as we know.
	_, _ = k.ReadStore(kind, func(store toolscache.Indexer) error {
		found = len(store.ListIndexFuncValues(claimIndex)) > 0
		return nil
	})
	return found
}

// claimOf is what claimIndex has of a template: the policy that its claim names.
func claimOf(obj any) ([]string, error) {
	if t, ok := obj.(*metav1.PartialObjectMetadata); ok {
		if c, ok := claim.On(t); ok {
			return []string{c.Key()}, nil
		}
	}
	return nil, nil
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
			if bindings.Fingerprint(old) != bindings.Fingerprint(t) {
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
