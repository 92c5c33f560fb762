package rollout

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/flow/rollout/admit"
)

// memory is the in-memory state of one rollout between reconciles. It needs no lock: only the worker that reconciles the binding uses it.
type memory struct {
	engine admit.Memory
	live   live
	same   comparison
	// frozen is what was stored with the newest revision, and frozenOf is that revision.
	frozen   *admit.Frozen
	frozenOf revision.ID
	// needs are the dependencies of the newest and the stable revision, by the hash of their content.
	needs map[string][]revision.Ref
	// adopts caches whether Works without a revision equal what a revision renders.
	adopts map[adoption]bool
	// tooLarge is the hash of a content that is too large to be stored.
	tooLarge string
	// began is when soaks of this rollout were restarted because a write of its status failed for an unknown reason; zero if never.
	began time.Time
	// wroteAt is when the status was last written.
	wroteAt time.Time
	// forget are revisions that the status does not name any more, and whose Secrets must be deleted.
	forget []int64
}

// rolloutStates holds the in-memory states of all rollouts of a kind.
type rolloutStates struct {
	mu  sync.Mutex
	all map[types.NamespacedName]*memory
	// last are the statuses that this process last wrote. They are immutable.
	last map[types.NamespacedName]*fairleadv1alpha1.StagedRolloutStatus
}

func newRolloutStates() *rolloutStates {
	return &rolloutStates{all: map[types.NamespacedName]*memory{}, last: map[types.NamespacedName]*fairleadv1alpha1.StagedRolloutStatus{}}
}

// of returns the memory of a rollout, for use by the worker that reconciles its binding.
func (m *rolloutStates) of(key types.NamespacedName) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	out, ok := m.all[key]
	if !ok {
		out = &memory{}
		m.all[key] = out
	}
	return out
}

func (m *rolloutStates) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, key)
	delete(m.last, key)
}

// wrote records a status that was written.
func (m *rolloutStates) wrote(key types.NamespacedName, status *fairleadv1alpha1.StagedRolloutStatus) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last[key] = status.DeepCopy()
}

// lastWritten returns the status that was written last, and whether this process wrote any.
func (m *rolloutStates) lastWritten(key types.NamespacedName) (*fairleadv1alpha1.StagedRolloutStatus, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	status, ok := m.last[key]
	return status, ok
}
