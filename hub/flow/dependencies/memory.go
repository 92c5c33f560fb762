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
	// rules is the version of the rules by which it was read.
	rules string
	refs  []configv1alpha1.DependentObjectReference
	// madeOf tells which template was read, and by which rules, as bindings.MadeOf does. It is empty if none was.
	madeOf string
	// unchanged says that the template was not read, since the binding says what it needs.
	unchanged bool
}

func newMemory() *memory { return &memory{read: map[types.NamespacedName]reading{}} }

// get returns what is known of a binding; false if it is nothing.
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

// doubt has the template of a binding read, whatever the binding says.
func (m *memory) doubt(key types.NamespacedName) { m.put(key, reading{}) }

func (m *memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.read, key)
}
