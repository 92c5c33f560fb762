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

// How often to check whether the API serves kinds that it did not serve. The delay grows from askSoon to askAgain with the time since the
// last such kind was added.
const (
	askSoon  = time.Second
	askAgain = 10 * time.Second
)

// kinds are the kinds whose templates are watched, as metadata only. It is safe for concurrent use.
type kinds struct {
	*watchset.Set

	queue *queue
	// written are templates as this hub wrote them, until the watch shows them.
	written *kube.Written[request, *metav1.PartialObjectMetadata]

	// mu guards the fields below.
	mu sync.Mutex
	// unserved are kinds that the API does not serve. They are checked all at once, since one policy can name thousands.
	unserved sets.Set[schema.GroupVersionKind]
	// since is when the last of them was added.
	since time.Time
	// lost are kinds whose watch ended because they are not served any more, if that is not reported yet.
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

// ensure watches a kind, and returns whether it is namespaced. If the API does not serve the kind, the error is kube.IsUnserved, and the
// kind is requested once the API serves it.
func (k *kinds) ensure(ctx context.Context, kind schema.GroupVersionKind) (namespaced bool, err error) {
	namespaced, err = k.Ensure(ctx, kind)
	switch {
	case err == nil:
		k.forget(kind)
		k.takeLost(kind) // it is served again
	case kube.IsUnserved(err) && k.note(kind):
		k.queue.after(askSoon, request{})
	}
	return namespaced, err
}

// note records that a kind is not served, and returns whether that is new.
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

// keep records it without resetting the delay.
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

// recheck returns the kinds that were not served and are served now, and when to check again if some are left. Kinds that are not needed
// any more are forgotten.
func (k *kinds) recheck(
	ctx context.Context, needed func(context.Context, schema.GroupVersionKind) (bool, error),
) (served []schema.GroupVersionKind, again time.Duration, err error) {
	k.mu.Lock()
	unserved, waited := k.unserved.UnsortedList(), k.Clock.Since(k.since)
	k.mu.Unlock()
	for _, kind := range unserved {
		k.forget(kind) // first, so that a kind that is needed again meanwhile is recorded again
		wanted, err := needed(ctx, kind)
		switch {
		case err != nil:
			k.keep(kind)
			return served, again, err
		case !wanted:
		case k.Served.Check(ctx, kind) == nil:
			served = append(served, kind)
		default: // the API may serve it later
			k.keep(kind)
			again = max(askSoon, watchset.LookAgain(waited))
		}
	}
	return served, again, nil
}

// read returns a copy of the metadata of a template, as the watch of one version shows it or as this hub wrote it; nil if it does not
// exist.
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

// each calls a function with the cached templates of a kind, in one namespace or in all. The function must not modify them. Templates that
// are not cached yet are reported as events later.
func (k *kinds) each(kind schema.GroupVersionKind, namespace string, visit func(*metav1.PartialObjectMetadata)) error {
	return k.visit(kind, visit, func(store toolscache.Indexer) ([]any, error) {
		if namespace == "" {
			return store.List(), nil
		}
		return store.ByIndex(toolscache.NamespaceIndex, namespace)
	})
}

// eachNamed does the same for the templates of a kind that have a name, in any namespace.
func (k *kinds) eachNamed(kind schema.GroupVersionKind, name string, visit func(*metav1.PartialObjectMetadata)) error {
	return k.visit(kind, visit, func(store toolscache.Indexer) ([]any, error) { return ofName(store, name) })
}

// ofName returns the objects of a name in a store. It does one lookup per namespace, of which there are few.
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

// eachOf does the same for the templates of a kind that have the claim of a policy.
func (k *kinds) eachOf(kind schema.GroupVersionKind, policy claim.Claim, visit func(*metav1.PartialObjectMetadata)) error {
	return k.visit(kind, visit, func(store toolscache.Indexer) ([]any, error) { return store.ByIndex(claimIndex, policy.Key()) })
}

// visit calls a function with the objects found in the store of a kind. It copies nothing, since there may be tens of thousands of
// templates.
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

// anyClaimed returns whether a cached template of a kind has a claim.
func (k *kinds) anyClaimed(kind schema.GroupVersionKind) bool {
	found := false
	// This cannot fail. A kind that is not listed yet counts as unclaimed.
	_, _ = k.ReadStore(kind, func(store toolscache.Indexer) error {
		found = len(store.ListIndexFuncValues(claimIndex)) > 0
		return nil
	})
	return found
}

// claimOf returns the value of claimIndex for a template: the policy that its claim names.
func claimOf(obj any) ([]string, error) {
	if t, ok := obj.(*metav1.PartialObjectMetadata); ok {
		if c, ok := claim.On(t); ok {
			return []string{c.Key()}, nil
		}
	}
	return nil, nil
}

// events turns watch events into requests.
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
