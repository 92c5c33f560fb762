package dependencies

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
)

// memory has the dependencies that were read from the templates of bindings.
type memory struct {
	mu   sync.Mutex
	read map[types.NamespacedName]reading
}

type reading struct {
	version string
	// rules is the version of the rules by which they were read.
	rules string
	refs  []configv1alpha1.DependentObjectReference
	// madeOf identifies the template that was read and the rules, as bindings.MadeOf does. It is empty if none was read.
	madeOf string
	// unchanged says that the template was not read, because the binding records the dependencies.
	unchanged bool
}

func newMemory() *memory { return &memory{read: map[types.NamespacedName]reading{}} }

// get returns what is known about a binding; false if nothing is.
func (m *memory) get(key types.NamespacedName) (reading, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.read[key]
	return r, ok
}

func (m *memory) put(key types.NamespacedName, r reading) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.read[key] = r
}

// doubt makes the next reconcile of a binding read the template, whatever the binding records.
func (m *memory) doubt(key types.NamespacedName) { m.put(key, reading{}) }

func (m *memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.read, key)
}
