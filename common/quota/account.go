package quota

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
)

// Account is the sum of what the bindings of a namespace use, updated one binding at a time, so that a decision about
// one binding need not add up all others. The zero value is empty.
type Account struct {
	of  map[string]corev1.ResourceList
	sum corev1.ResourceList
}

// Set records what a binding uses; nothing if it is gone.
func (a *Account) Set(binding string, uses corev1.ResourceList) {
	if a.of == nil {
		a.of, a.sum = map[string]corev1.ResourceList{}, corev1.ResourceList{}
	}
	a.sum = without(a.sum, a.of[binding])
	if len(uses) == 0 {
		delete(a.of, binding)
		return
	}
	a.of[binding] = uses
	Add(a.sum, uses)
}

// Others returns what all other bindings use. The caller may modify the list.
func (a *Account) Others(binding string) corev1.ResourceList {
	return without(a.sum, a.of[binding])
}

// without returns a sum minus a part, without resources that become zero.
func without(sum, part corev1.ResourceList) corev1.ResourceList {
	out := maps.Clone(sum)
	if out == nil {
		out = corev1.ResourceList{}
	}
	for name, amount := range part {
		left := out[name].DeepCopy()
		left.Sub(amount)
		out[name] = left
		if left.IsZero() {
			delete(out, name)
		}
	}
	return out
}
