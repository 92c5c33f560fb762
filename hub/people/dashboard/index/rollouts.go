package index

import (
	"slices"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/hub/people/view/applications"
)

// Rollout is a rollout with its application.
type Rollout struct {
	Object fairleadv1alpha1.Rollout
	App    *applications.Application
}

// PutRollout adds or updates a rollout.
func (x *Index) PutRollout(ro fairleadv1alpha1.Rollout) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.rollouts[Key{ro.GetNamespace(), ro.GetName()}] = ro
}

// DropRollout removes a rollout.
func (x *Index) DropRollout(key Key) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.rollouts, key)
}

// Rollouts returns the rollouts of all applications, sorted by namespace, kind and name.
func (x *Index) Rollouts() []Rollout {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := make([]Rollout, 0, len(x.rollouts))
	for key, ro := range x.rollouts {
		if a := x.apps[key]; a != nil {
			out = append(out, Rollout{ro, a})
		}
	}
	slices.SortFunc(out, func(a, b Rollout) int { return compare(a.App, b.App) })
	return out
}

// Rollout returns the rollout of an application; false if there is none.
func (x *Index) Rollout(key Key) (Rollout, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	ro, a := x.rollouts[key], x.apps[key]
	return Rollout{ro, a}, ro != nil && a != nil
}
