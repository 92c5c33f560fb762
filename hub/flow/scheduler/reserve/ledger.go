package reserve

import (
	"maps"
	"math"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/quantity"
	"fairlead.dev/hub/flow/scheduler/fit"
)

// Lifetime is the longest that a reservation lasts.
const Lifetime = 5 * time.Minute

// Ledger holds the reservations of all clusters. It is safe for concurrent use. Callers pass the current time.
type Ledger struct {
	mu       sync.Mutex
	accounts map[string]*account
	// reserving are the accounts with reservations, which are few among thousands of clusters.
	reserving map[string]*account
	// soonest is a lower bound for when the first reservation expires; zero if there are none.
	soonest time.Time
	// at has the clusters with reservations for a binding, and the number of entries in each.
	at map[types.NamespacedName]map[string]int
	// given is the last result of All; changed are the accounts that may have changed since, and moved says that accounts were added or
	// removed.
	given   fit.Reservations
	changed []*account
	moved   bool
}

// New returns an empty ledger.
func New() *Ledger {
	return &Ledger{accounts: map[string]*account{}, reserving: map[string]*account{}, at: map[types.NamespacedName]map[string]int{}}
}

// Assign reserves what the targets of a binding gained, and releases what they lost.
func (l *Ledger) Assign(binding types.NamespacedName, before, after []workv1alpha2.TargetCluster, request corev1.ResourceList, now time.Time) {
	gained := make(map[string]int64, len(before)+len(after))
	for i := range after {
		gained[after[i].Name] += int64(after[i].Replicas)
	}
	for i := range before {
		gained[before[i].Name] -= int64(before[i].Replicas)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for cluster, n := range gained {
		switch a := l.accounts[cluster]; {
		case n > 0:
			if l.at[binding] == nil {
				l.at[binding] = map[string]int{}
			}
			l.at[binding][cluster]++
			open, until := l.account(cluster), now.Add(Lifetime)
			ended := open.expire(now) // a standby does not call All, which would expire entries
			open.add(entry{binding: binding, replicas: n, request: request, until: until})
			l.note(cluster, open, ended)
			if l.soonest.IsZero() || until.Before(l.soonest) {
				l.soonest = until
			}
		case n < 0 && a != nil:
			l.note(cluster, a, a.release(-n, func(e *entry) bool { return e.binding == binding }))
		}
	}
}

// reserved returns how many replicas of a binding are reserved in a cluster.
func (l *Ledger) reserved(b workv1alpha2.Binding, cluster string) int64 {
	binding := types.NamespacedName{Namespace: b.GetNamespace(), Name: b.GetName()}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at[binding][cluster] == 0 {
		return 0
	}
	var sum int64
	for i := range l.accounts[cluster].entries {
		if e := &l.accounts[cluster].entries[i]; e.binding == binding {
			sum += e.replicas
		}
	}
	return sum
}

// note updates the indexes for an account whose entries changed. Ended are the bindings of entries that were removed, one for each.
func (l *Ledger) note(cluster string, a *account, ended []types.NamespacedName) {
	if len(a.entries) > 0 {
		l.reserving[cluster] = a
	} else {
		delete(l.reserving, cluster)
	}
	if !a.changed {
		a.changed = true
		l.changed = append(l.changed, a)
	}
	for _, binding := range ended {
		at := l.at[binding]
		if at[cluster]--; at[cluster] <= 0 {
			delete(at, cluster)
		}
		if len(at) == 0 {
			delete(l.at, binding)
		}
	}
}

// Report records the number of pods that a cluster reports, and releases as many replicas as it has more than before.
func (l *Ledger) Report(c *clusterv1alpha1.Cluster) {
	s := c.Status.ResourceSummary
	if s == nil {
		return
	}
	allocated, allocating := s.Allocated[corev1.ResourcePods], s.Allocating[corev1.ResourcePods]
	pods := quantity.Plus(quantity.Value(allocated), quantity.Value(allocating)) // Plus saturates: a member may report anything
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.account(c.Name)
	if a.reported && pods > a.pods {
		l.note(c.Name, a, a.release(pods-a.pods, func(*entry) bool { return true }))
	}
	a.pods, a.reported = pods, true
}

// Forget releases all reservations of a deleted binding, and returns whether there were any.
func (l *Ledger) Forget(binding types.NamespacedName) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	freed := false
	for cluster := range maps.Clone(l.at[binding]) {
		a := l.accounts[cluster]
		if a == nil {
			continue
		}
		before := a.pending()
		l.note(cluster, a, a.release(math.MaxInt64, func(e *entry) bool { return e.binding == binding }))
		freed = freed || a.pending() < before
	}
	return freed
}

// Leave removes the account of a deleted cluster.
func (l *Ledger) Leave(cluster string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.accounts[cluster]; a != nil {
		l.note(cluster, a, a.release(math.MaxInt64, func(*entry) bool { return true }))
		delete(l.accounts, cluster)
		l.moved = true
	}
}

// All returns all reservations. If nothing changed since the last call it is cheap, however many clusters there are.
func (l *Ledger) All(now time.Time) fit.Reservations {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expire(now)
	switch {
	case l.moved:
		places, sums := make(fit.Places, len(l.accounts)), make([]*fit.Assumed, 0, len(l.accounts))
		for cluster, a := range l.accounts {
			a.place = len(sums)
			places[cluster], sums = a.place, append(sums, a.sum)
		}
		l.given = fit.NewReservations(&places, sums)
	case len(l.changed) > 0:
		others := make(map[int]*fit.Assumed, len(l.changed))
		for _, a := range l.changed {
			others[a.place] = a.sum
		}
		l.given = l.given.With(others)
	}
	for _, a := range l.changed {
		a.changed = false
	}
	clear(l.changed)
	l.changed, l.moved = l.changed[:0], false
	return l.given
}

// expire releases the expired reservations of all clusters.
func (l *Ledger) expire(now time.Time) {
	if l.soonest.IsZero() || now.Before(l.soonest) {
		return
	}
	l.soonest = time.Time{}
	for cluster, a := range l.reserving {
		if ended := a.expire(now); len(ended) > 0 {
			l.note(cluster, a, ended)
		}
		if len(a.entries) > 0 && (l.soonest.IsZero() || a.entries[0].until.Before(l.soonest)) {
			l.soonest = a.entries[0].until
		}
	}
}

func (l *Ledger) account(cluster string) *account {
	a := l.accounts[cluster]
	if a == nil {
		a = &account{}
		l.accounts[cluster] = a
		l.moved = true
	}
	return a
}
