package attach

import (
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

const (
	// maxTaken is how much of a binding the record of the workloads that need it may take, in bytes. An object may have about 1.5 MB. The
	// rest is for the reports of clusters, and for what must be written so that a workload can leave and the binding be deleted.
	maxTaken = 1 << 20
	// maxOfOne is how much of that the workloads of one namespace may take, if the object is in another one or in none. So no namespace
	// keeps those of others from a common dependency.
	maxOfOne = maxTaken / 2
	// moving is how much more the workloads that the binding names already may take for a while. A workload that moves has its own list
	// until the workloads with the same clusters have moved as well: 115 KiB for five thousand clusters. If the first of them had no room,
	// none could ever move.
	moving = 192 << 10
	// sizeOfEntry is about the size of a workload, with its label, besides its names and the names of its clusters.
	sizeOfEntry = 192
)

// Taken is how much of a binding the record of the workloads that need it takes, in bytes.
type Taken struct {
	all int
	// by is the size by the namespace of the workloads.
	by map[string]int
}

// TakenOf returns the size of the record on a binding.
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

// HasRoom returns whether a binding has room for what a workload of a namespace takes now, given the size before; isNew says whether the
// workload is new on the binding. A record that has not grown always has room.
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
