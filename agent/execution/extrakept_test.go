package execution_test

import (
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// extraKept is a Journal that keeps what belongs to no single Work: the kinds that were ever applied, and the deleted
// objects that are not gone yet.
type extraKept struct {
	removals

	mu         sync.Mutex
	putKinds   []schema.GroupVersionKind
	putObjects []metav1.PartialObjectMetadata
}

func (k *extraKept) PutKinds(kinds []schema.GroupVersionKind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.putKinds = kinds
}

func (k *extraKept) kinds() []schema.GroupVersionKind {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.putKinds)
}

func (k *extraKept) PutDeletions(objects []metav1.PartialObjectMetadata) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.putObjects = objects
}

func (k *extraKept) deletions() []metav1.PartialObjectMetadata {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.putObjects)
}
