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

// A list of a cache has its objects by value: what is listed is copied once even if it is not copied deeply, which are
// megabytes for each look at thousands of clusters or tens of thousands of bindings. Who reads, and changes nothing, gets by
// with the addresses of what is in the store of the cache.

// cachedClient is a client whose cache can be asked for its informers.
type cachedClient struct {
	client.Client

	informers cache.Informers
}

// Informed has the informers of a cache: the cache itself, and a client that NewClient made.
type Informed interface {
	// GetInformer returns the informer of a kind.
	GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error)
}

// NewClient makes the client of a manager. The functions of this package that list what nobody may change read the store
// of its cache; any other list, and all else, is as of any client.
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

// stored returns what the store of a cache has of the kind of an object: the very objects, which nobody may change. It says no if
// it cannot tell and the reader is to be asked for a list: if that has no cache, or not all of the kind yet, or if the options
// ask for more than a namespace and labels.
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

// listShared lists what is to be read and not to be changed, as the interface that as makes of it: from the store of a cache if
// there is one, or else into an empty list, whose items are what is returned then.
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

// addIndex adds an index of the objects of a kind in all namespaces to a cache. One that IndexField of the cache makes has each value once
// more for the namespace of the object, which nobody asks for: of values that few objects have that is most of the index.
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

// underIndex returns what the store of a cache has of the kind of an object under a value of an index of addIndex: the very objects,
// which nobody may change. It says no if the reader has no such index, or not all of the kind yet.
func underIndex(ctx context.Context, r client.Reader, of client.Object, index, value string) ([]any, bool) {
	store, ok := filledStore(ctx, r, of)
	if !ok {
		return nil, false
	}
	found, err := store.ByIndex(index, value)
	return found, err == nil
}

// filledStore returns where the cache behind a reader keeps what it has of the kind of an object; false if the reader has no cache, or not
// all of the kind yet.
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

// storeOf returns where an informer keeps what it watches. One that watches some namespaces only keeps it in several places.
func storeOf(informer cache.Informer) (toolscache.Indexer, bool) {
	one, ok := informer.(toolscache.SharedIndexInformer)
	if !ok {
		return nil, false
	}
	return one.GetIndexer(), true
}

// indexed returns the store of an informer with some indexes added, unless it has them. They find what was there before, too.
func indexed(informer cache.Informer, by toolscache.Indexers) (toolscache.Indexer, error) {
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
