package kube

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// MetadataInformers are the informers of a cache that keep the metadata of objects and
// nothing else. Several stages share one: it runs while any of them holds it. It is
// safe for use by many goroutines.
type MetadataInformers struct {
	cache cache.Cache

	mu    sync.Mutex
	users map[schema.GroupVersionKind]int
}

// NewMetadataInformers returns the informers of a cache. There is one such value for
// each cache, or they would stop each other's informers.
func NewMetadataInformers(c cache.Cache) *MetadataInformers {
	return &MetadataInformers{cache: c, users: map[schema.GroupVersionKind]int{}}
}

// Hold starts the informer of a kind, or joins it, and returns at once: whether the first
// list is here, HasSynced says. Whoever holds one lets it go once.
func (m *MetadataInformers) Hold(ctx context.Context, kind schema.GroupVersionKind) (cache.Informer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	informer, err := m.cache.GetInformer(ctx, MetadataOf(kind), cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watching kind %q: %w", kind, err)
	}
	m.users[kind]++
	return informer, nil
}

// LetGo ends the informer of a kind when nobody else holds it. The caller has removed
// its handlers, and reads nothing of the kind from the cache any more: a read would
// start an informer that nobody holds.
func (m *MetadataInformers) LetGo(ctx context.Context, kind schema.GroupVersionKind) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.users[kind] > 1 {
		m.users[kind]--
		return nil
	}
	if err := m.cache.RemoveInformer(ctx, MetadataOf(kind)); err != nil {
		return fmt.Errorf("ending the watch of kind %q: %w", kind, err)
	}
	delete(m.users, kind)
	return nil
}

// MetadataOf returns an object of a kind that has room for metadata only.
func MetadataOf(kind schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	obj := &metav1.PartialObjectMetadata{}
	obj.SetGroupVersionKind(kind)
	return obj
}
