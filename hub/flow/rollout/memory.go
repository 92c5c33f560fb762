package rollout

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/flow/rollout/admit"
)

// memory is what is remembered of one rollout between two looks at it. One goroutine at a time has
// it: that which works on the binding.
type memory struct {
	engine admit.Memory
	live   live
	same   comparison
	// frozen is what was kept with the newest revision, and of which that was.
	frozen   *admit.Frozen
	frozenOf revision.ID
	// needs are the objects that the newest and the stable revision need, by the hash of their content.
	needs map[string][]revision.Ref
	// adopts says of Works without a revision whether they are what a revision renders.
	adopts map[adoption]bool
	// tooLarge is the hash of a content that does not fit.
	tooLarge string
	// began is since when this rollout is followed, if that is not since the process follows the clusters: its status was refused without a
	// reason then.
	began time.Time
	// wroteAt is when the status was written last.
	wroteAt time.Time
	// forget are revisions of which the status does not tell any more, and whose Secrets are to go.
	forget []int64
}

// rolloutStates are the states of all bindings of a kind.
type rolloutStates struct {
	mu  sync.Mutex
	all map[types.NamespacedName]*memory
	// last are the statuses that this process wrote last. They are not changed.
	last map[types.NamespacedName]*fairleadv1alpha1.StagedRolloutStatus
}

func newRolloutStates() *rolloutStates {
	return &rolloutStates{all: map[types.NamespacedName]*memory{}, last: map[types.NamespacedName]*fairleadv1alpha1.StagedRolloutStatus{}}
}

// of returns what is remembered of a rollout, for as long as the caller works on its binding.
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

// wrote remembers the status that was written.
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
