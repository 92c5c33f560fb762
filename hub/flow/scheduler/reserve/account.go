package reserve

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/hub/flow/scheduler/fit"
)

// account holds the reservations in one cluster.
type account struct {
	// pods is the number of pods in the last report; reported says that there was one.
	pods     int64
	reported bool
	// entries are the reservations, in the order of their expiry.
	entries []entry
	// sum is the sum of the entries; nil if there are none. It is immutable and replaced on change, because it is handed out.
	sum *fit.Assumed
	// place is the account's index in Ledger.given; changed says that the account is in Ledger.changed.
	place   int
	changed bool
}

// entry is the reservation of one assignment.
type entry struct {
	binding  types.NamespacedName
	replicas int64
	request  corev1.ResourceList
	until    time.Time
}

// add adds an entry.
func (a *account) add(e entry) {
	at, _ := slices.BinarySearchFunc(a.entries, e.until, func(e entry, until time.Time) int {
		if e.until.After(until) {
			return 1
		}
		return -1 // insert after those that expire at the same time
	})
	a.entries = slices.Insert(a.entries, at, e)
	a.count(&e, e.replicas)
}

// count adds a number of replicas of an entry to the sum, or subtracts them if it is negative.
func (a *account) count(e *entry, replicas int64) {
	var before fit.Assumed
	if a.sum != nil {
		before = *a.sum
	}
	next := &fit.Assumed{Amount: plus(before.Amount, e.request, replicas), Namespaces: maps.Clone(before.Namespaces)}
	if namespace := e.binding.Namespace; namespace != "" {
		if next.Namespaces == nil {
			next.Namespaces = map[string]fit.Amount{}
		}
		sum := next.Amount // with a single namespace, its sum is the total and can be shared
		if was := before.Namespaces[namespace]; was.Pods != before.Pods {
			sum = plus(was, e.request, replicas)
		}
		next.Namespaces[namespace] = sum
		if sum.Pods == 0 {
			delete(next.Namespaces, namespace)
		}
	}
	a.sum = next
}

// plus returns an amount plus the requests of a number of replicas. It ignores negative requests, which would add capacity to the cluster.
func plus(amount fit.Amount, request corev1.ResourceList, replicas int64) fit.Amount {
	out := fit.Amount{Pods: amount.Pods + replicas, Resources: maps.Clone(amount.Resources)}
	if out.Resources == nil {
		out.Resources = make(corev1.ResourceList, len(request))
	}
	for name, q := range request {
		if q.Sign() < 0 {
			continue
		}
		sum := out.Resources[name].DeepCopy()
		sum.Add(times(q, replicas))
		out.Resources[name] = sum
	}
	return out
}

// pending returns how many pods are reserved.
func (a *account) pending() int64 {
	if a.sum == nil {
		return 0
	}
	return a.sum.Pods
}

// release releases up to n replicas of the entries that match, the oldest first, and returns the bindings of the entries that are used up.
func (a *account) release(n int64, matches func(*entry) bool) (ended []types.NamespacedName) {
	if a.pending() <= n && !slices.ContainsFunc(a.entries, func(e entry) bool { return !matches(&e) }) {
		return a.close()
	}
	kept := a.entries[:0]
	for i := range a.entries {
		e := a.entries[i]
		if n > 0 && matches(&e) {
			freed := min(n, e.replicas)
			e.replicas -= freed
			n -= freed
			a.count(&e, -freed)
		}
		if e.replicas > 0 {
			kept = append(kept, e)
		} else {
			ended = append(ended, e.binding)
		}
	}
	clear(a.entries[len(kept):])
	if a.entries = kept; len(kept) == 0 {
		a.sum = nil
	}
	return ended
}

// close releases all entries, and returns their bindings.
func (a *account) close() (ended []types.NamespacedName) {
	for i := range a.entries {
		ended = append(ended, a.entries[i].binding)
	}
	clear(a.entries)
	a.entries, a.sum = a.entries[:0], nil
	return ended
}

// expire releases the expired entries, and returns their bindings.
func (a *account) expire(now time.Time) (ended []types.NamespacedName) {
	for len(a.entries) > 0 && !now.Before(a.entries[0].until) {
		a.count(&a.entries[0], -a.entries[0].replicas)
		ended = append(ended, a.entries[0].binding)
		a.entries[0] = entry{}
		a.entries = a.entries[1:]
	}
	if len(a.entries) == 0 {
		a.entries, a.sum = nil, nil
	}
	return ended
}

// times multiplies a quantity.
func times(q resource.Quantity, n int64) resource.Quantity {
	q = q.DeepCopy()
	q.Mul(n)
	return q
}
