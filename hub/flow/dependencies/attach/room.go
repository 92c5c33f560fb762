package attach

import (
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

const (
	// maxTaken is how much of a binding may say which workloads need it, in bytes. An object may have about 1.5 MB: the rest is for what
	// clusters report, and for what has to be written so that a workload can leave, and the binding go.
	maxTaken = 1 << 20
	// maxOfOne is how much of that may be of the workloads of one namespace, if the object is in another one or in none: nobody keeps
	// those of others from what all need.
	maxOfOne = maxTaken / 2
	// moving is how much more than either may be taken for a while by workloads that the binding names already. One that moves has a list of
	// its own until those that it was alike with have moved as well, of 115 KiB for five thousand clusters: if the first had no room, none
	// would ever move.
	moving = 192 << 10
	// sizeOfEntry is about what a workload takes, beside the names of itself and of its clusters; its label is in it.
	sizeOfEntry = 192
)

// Taken is how much of a binding says which workloads need it, in bytes.
type Taken struct {
	all int
	// by has it by the namespace of the workloads.
	by map[string]int
}

// TakenOf returns how much of a binding is taken.
func TakenOf(b workv1alpha2.Binding) Taken {
	out := Taken{by: map[string]int{}}
	for i := range b.BindingSpec().RequiredBy {
		s := &b.BindingSpec().RequiredBy[i]
		n := sizeOfEntry + len(s.Namespace) + len(s.Name)
		for j := range s.Clusters {
			n += len(s.Clusters[j].Name) + sizeOfTarget
		}
		out.all += n
		out.by[s.Namespace] += n
	}
	return out
}

// HasRoom says whether a binding that had so much taken before has room for what a workload of a namespace takes now, which is new to it or not.
// What takes no more than before has room in any case.
func HasRoom(b workv1alpha2.Binding, before Taken, namespace string, isNew bool) bool {
	now, all, ofOne := TakenOf(b), maxTaken, maxOfOne
	if !isNew {
		all, ofOne = all+moving, ofOne+moving
	}
	if now.all > max(before.all, all) {
		return false
	}
	return namespace == b.GetNamespace() || now.by[namespace] <= max(before.by[namespace], ofOne)
}
