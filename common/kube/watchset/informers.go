package watchset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/kube"
)

// MetadataInformers are a cache's informers that keep only the metadata of objects. Several stages share the informer
// of a kind, which runs while any of them holds it. It is safe for concurrent use.
type MetadataInformers struct {
	cache cache.Cache

	// checking is held while the API is asked which kinds it still serves.
	checking sync.Mutex

	mu    sync.Mutex
	users map[schema.GroupVersionKind]int
	// lose are called with each kind that is no longer served.
	lose []func(context.Context, schema.GroupVersionKind) error
}

// NewMetadataInformers returns the informers of a cache. A cache needs exactly one, since two would stop each other's informers.
func NewMetadataInformers(c cache.Cache) *MetadataInformers {
	return &MetadataInformers{cache: c, users: map[schema.GroupVersionKind]int{}}
}

// Hold starts the informer of a kind, or shares it, and returns at once; HasSynced says whether the first list has arrived. Each Hold needs
// one LetGo.
func (m *MetadataInformers) Hold(ctx context.Context, kind schema.GroupVersionKind) (cache.Informer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	informer, err := m.cache.GetInformer(ctx, kube.MetadataOf(kind), cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watching kind %q: %w", kind, err)
	}
	m.users[kind]++
	return informer, nil
}

// LetGo releases the informer of a kind, and stops it if nobody else holds it. The caller must have removed its handlers, and must not read
// the kind from the cache any more: a read would start an informer that nobody holds.
func (m *MetadataInformers) LetGo(ctx context.Context, kind schema.GroupVersionKind) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.users[kind] > 1 {
		m.users[kind]--
		return nil
	}
	if err := m.cache.RemoveInformer(ctx, kube.MetadataOf(kind)); err != nil {
		return fmt.Errorf("ending the watch of kind %q: %w", kind, err)
	}
	delete(m.users, kind)
	return nil
}

// subscribe registers a function that is called with each kind that is no longer served, and has to let go of it.
func (m *MetadataInformers) subscribe(lose func(context.Context, schema.GroupVersionKind) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lose = append(m.lose, lose)
}

// DropUnserved asks the API which kinds it serves, and makes all users let go of the others. A concurrent second call
// does nothing.
func (m *MetadataInformers) DropUnserved(ctx context.Context, live client.Reader) error {
	if !m.checking.TryLock() {
		return nil
	}
	defer m.checking.Unlock()
	m.mu.Lock()
	kinds, lose := slices.Collect(maps.Keys(m.users)), slices.Clone(m.lose)
	m.mu.Unlock()
	var failures []error
	for _, kind := range kinds {
		served, err := isServed(ctx, live, kind)
		if err != nil {
			failures = append(failures, fmt.Errorf("asking for kind %q: %w", kind, err))
		}
		if served || err != nil {
			continue
		}
		for _, drop := range lose {
			failures = append(failures, drop(ctx, kind))
		}
	}
	return errors.Join(failures...)
}
