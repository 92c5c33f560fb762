package dependencies

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
)

// memory has what was read of the templates of bindings.
type memory struct {
	mu   sync.Mutex
	read map[types.NamespacedName]reading
}

type reading struct {
	version string
	refs    []configv1alpha1.DependentObjectReference
}

func newMemory() *memory { return &memory{read: map[types.NamespacedName]reading{}} }

func (m *memory) get(key types.NamespacedName, version string) ([]configv1alpha1.DependentObjectReference, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.read[key]
	return r.refs, ok && r.version == version
}

func (m *memory) put(key types.NamespacedName, version string, refs []configv1alpha1.DependentObjectReference) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.read[key] = reading{version: version, refs: refs}
}

func (m *memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.read, key)
}
