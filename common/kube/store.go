package kube

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Lists from controller-runtime's cache hold objects by value, so even without deep copies each object is copied
// once: megabytes for every list of thousands of clusters or tens of thousands of bindings. The functions here return
// pointers to the stored objects instead, for callers that change nothing.

// cachedClient is a client that also gives access to the informers of its cache.
type cachedClient struct {
	client.Client

	informers cache.Informers
}

// Informed is anything with informers: a cache, or a client made by NewClient.
type Informed interface {
	// GetInformer returns the informer of a kind.
	GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error)
}

// NewClient makes the client of a manager. The list functions of this package read its cache's store directly; all
// its methods are those of an ordinary client.
func NewClient(cfg *rest.Config, o client.Options) (client.Client, error) {
	c, err := client.New(cfg, o)
	if err != nil || o.Cache == nil {
		return c, err
	}
	if informers, ok := o.Cache.Reader.(cache.Informers); ok {
		return &cachedClient{Client: c, informers: informers}, nil
	}
	return c, nil
}

// GetInformer returns an informer of the cache.
func (c *cachedClient) GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	return c.informers.GetInformer(ctx, obj, opts...)
}

// stored returns the objects of a kind in the store of a cache; they must not be changed. It returns false if the caller has to use List:
// the reader has no cache, the kind has not synced, or the options select by more than namespace and labels.
func stored[T client.Object](ctx context.Context, r client.Reader, of T, opts []client.ListOption) ([]T, bool) {
	var o client.ListOptions
	o.ApplyOptions(opts)
	if o.FieldSelector != nil || o.Limit != 0 || o.Continue != "" || o.Raw != nil {
		return nil, false
	}
	store, ok := filledStore(ctx, r, of)
	if !ok {
		return nil, false
	}
	var found []any
	var err error
	if o.Namespace == "" {
		found = store.List()
	} else if found, err = store.ByIndex(toolscache.NamespaceIndex, o.Namespace); err != nil {
		return nil, false
	}
	out := make([]T, 0, len(found))
	for _, item := range found {
		obj, ok := item.(T)
		if !ok {
			return nil, false
		}
		if o.LabelSelector == nil || o.LabelSelector.Matches(labels.Set(obj.GetLabels())) {
			out = append(out, obj)
		}
	}
	return out, true
}

// listShared lists objects that must not be changed, converted to an interface by as: from the store of a cache, or
// else with List.
func listShared[T any, P interface {
	*T
	client.Object
}, I any](ctx context.Context, r client.Reader, list client.ObjectList, items *[]T, as func(P) I, opts ...client.ListOption) ([]I, error) {
	if found, ok := stored[P](ctx, r, P(new(T)), opts); ok {
		out := make([]I, len(found))
		for i := range found {
			out[i] = as(found[i])
		}
		return out, nil
	}
	if err := r.List(ctx, list, append(opts, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, err
	}
	out := make([]I, len(*items))
	for i := range *items {
		out[i] = as(&(*items)[i])
	}
	return out, nil
}

// addIndex adds an index over all namespaces for a kind to a cache. IndexField of the cache would store each value
// again per namespace, which nobody uses: for values with few objects that is most of the index.
func addIndex(ctx context.Context, c Informed, of client.Object, name string, values client.IndexerFunc) error {
	informer, err := c.GetInformer(ctx, of, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	return informer.AddIndexers(toolscache.Indexers{name: func(item any) ([]string, error) {
		obj, ok := item.(client.Object)
		if !ok {
			return nil, fmt.Errorf("%T is no object", item)
		}
		return values(obj), nil
	}})
}

// underIndex returns the objects with a value in an index made by addIndex; they must not be changed. It returns
// false if the reader has no such index, or the kind has not synced.
func underIndex(ctx context.Context, r client.Reader, of client.Object, index, value string) ([]any, bool) {
	store, ok := filledStore(ctx, r, of)
	if !ok {
		return nil, false
	}
	found, err := store.ByIndex(index, value)
	return found, err == nil
}

// filledStore returns the store of a kind in the cache behind a reader; false if there is no cache, or the kind has not synced.
func filledStore(ctx context.Context, r client.Reader, of client.Object) (toolscache.Indexer, bool) {
	from, ok := r.(Informed)
	if !ok {
		return nil, false
	}
	informer, err := from.GetInformer(ctx, of, cache.BlockUntilSynced(false))
	if err != nil || !informer.HasSynced() {
		return nil, false
	}
	return storeOf(informer)
}

// storeOf returns the store of an informer; false for an informer that watches several namespaces, which has several stores.
func storeOf(informer cache.Informer) (toolscache.Indexer, bool) {
	one, ok := informer.(toolscache.SharedIndexInformer)
	if !ok {
		return nil, false
	}
	return one.GetIndexer(), true
}

// Indexed returns the store of an informer, with indexes added that it lacks. They also cover objects that were already there.
func Indexed(informer cache.Informer, by toolscache.Indexers) (toolscache.Indexer, error) {
	if len(by) == 0 {
		return nil, nil //nolint:nilnil // Nobody asks for a store without an index.
	}
	store, ok := storeOf(informer)
	if !ok {
		return nil, fmt.Errorf("there is no one store behind a %T", informer)
	}
	has, missing := store.GetIndexers(), toolscache.Indexers{}
	for name, value := range by {
		if _, ok := has[name]; !ok {
			missing[name] = value
		}
	}
	return store, informer.AddIndexers(missing)
}
