package decide

import (
	"slices"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/hub/flow/scheduler/fit"
)

// memoized is how many answers of each sort a Memo keeps: filter results for so many placements, and capacities for so many replica sizes.
const memoized = 64

// Memo caches between decisions what is the same for many applications: which clusters pass the filters, by placement and kind, and how
// much fits into each besides what is reserved there, by the requests of a replica. A decision then evaluates only the clusters that
// changed, or whose reservations changed, and those to which the application has a relation of its own. The result is the same as without a
// Memo. The zero value is ready; only one decision at a time may use it.
type Memo struct {
	filtered answers[filterKey, refused]
	fits     answers[string, room]
	// sorted is the result of the last sort.
	sorted []*clusterv1alpha1.Cluster
	// seen tracks the clusters alone, for filters; reserved tracks them with their reservations.
	seen, reserved seen
	// memory holds the buffers of attempts.
	memory memory
}

// filterKey is everything that filters depend on, except relations of the application to single clusters.
type filterKey struct {
	placement, apiVersion, kind, allowance string
	group, overflow                        int
}

// refused is the filter that rejects a cluster, with the reason; empty if none does.
type refused struct{ filter, reason string }

// answers caches up to memoized answers by question, each with a value for every cluster. A new one replaces the oldest.
type answers[K comparable, V any] struct {
	of    map[K]*answer[V]
	order []K
	// asked are up to memoized questions that were asked once.
	asked []K
}

// seen numbers the states of clusters. Answers refer to these versions rather than to the clusters, so that an answer that is not asked for
// any more does not keep thousands of old clusters in memory.
type seen struct {
	clusters []*clusterv1alpha1.Cluster
	reserved fit.Reservations
	names    []string
	// states are the states of the clusters, and places their indexes in the reservations.
	states []state
	places []int
	// versions are ascending numbers, each of one state of one cluster; newest is the last number given.
	versions []uint64
	newest   uint64
}

// state is a cluster and what is reserved in it. Both are immutable and replaced on change.
type state struct {
	cluster *clusterv1alpha1.Cluster
	assumed *fit.Assumed
}

// look records the clusters, which must be sorted by name, and what is reserved in them, and returns whether they may have changed.
func (s *seen) look(clusters []*clusterv1alpha1.Cluster, reserved fit.Reservations) bool {
	if same(s.clusters, clusters) && s.reserved.Same(reserved) {
		return false
	}
	hasName := func(name string, c *clusterv1alpha1.Cluster) bool { return name == c.Name }
	if !same(s.clusters, clusters) && !slices.EqualFunc(s.names, clusters, hasName) {
		before := *s
		s.names, s.states, s.versions, s.places = make([]string, len(clusters)), make([]state, len(clusters)), make([]uint64, len(clusters)), nil
		for i, c := range clusters {
			s.names[i] = c.Name
		}
		align(before.names, s.names, func(from, to int) { s.states[to], s.versions[to] = before.states[from], before.versions[from] })
	}
	if s.places == nil || !s.reserved.SamePlaces(reserved) {
		s.places = make([]int, len(clusters))
		for i, name := range s.names {
			s.places[i] = reserved.Place(name)
		}
	}
	s.clusters, s.reserved = clusters, reserved
	for i, c := range clusters {
		if is := (state{c, reserved.At(s.places[i])}); s.states[i] != is {
			s.newest++
			s.states[i], s.versions[i] = is, s.newest
		}
	}
	return true
}

// assumed returns what is reserved in the i-th cluster.
func (s *seen) assumed(i int) fit.Assumed {
	if assumed := s.states[i].assumed; assumed != nil {
		return *assumed
	}
	return fit.Assumed{}
}

// align calls both with the indexes of each name that is in both lists, which must be sorted.
func align(before, after []string, both func(from, to int)) {
	from := 0
	for to, name := range after {
		for from < len(before) && before[from] < name {
			from++
		}
		if from < len(before) && before[from] == name {
			both(from, to)
		}
	}
}

// answer has a value for each cluster, with the version of the cluster that it was computed for.
type answer[V any] struct {
	names    []string
	versions []uint64
	values   []V
	// newest is the newest version at the last update.
	newest uint64
}

// again returns whether a question was asked before. A question that is asked once is not worth answering for all clusters.
func (a *answers[K, V]) again(key K) bool {
	if a.of[key] != nil || slices.Contains(a.asked, key) {
		return true
	}
	if len(a.asked) == memoized {
		a.asked = slices.Delete(a.asked, 0, 1)
	}
	a.asked = append(a.asked, key)
	return false
}

// get returns the values of the clusters in of, which must not be modified. It calls value, with the index, only for clusters whose state
// changed since the question was last asked.
func (a *answers[K, V]) get(key K, of *seen, value func(i int) V) []V {
	known := a.of[key]
	if known == nil {
		if a.of == nil {
			a.of = map[K]*answer[V]{}
		}
		if len(a.order) == memoized {
			delete(a.of, a.order[0])
			a.order = slices.Delete(a.order, 0, 1)
		}
		known = &answer[V]{}
		a.of[key], a.order = known, append(a.order, key)
	}
	known.update(of, value)
	return known.values
}

// update computes the values of the clusters whose state changed.
func (a *answer[V]) update(to *seen, value func(i int) V) {
	switch {
	case !sameNames(a.names, to.names):
		before := *a
		a.names, a.versions, a.values = to.names, make([]uint64, len(to.names)), make([]V, len(to.names))
		align(before.names, a.names, func(from, to int) { a.versions[to], a.values[to] = before.versions[from], before.values[from] })
	case a.newest == to.newest:
		return
	}
	for i, version := range to.versions {
		if a.versions[i] != version {
			a.versions[i], a.values[i] = version, value(i)
		}
	}
	a.newest = to.newest
}

// sameNames returns whether two lists are the same slice.
func sameNames(a, b []string) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// same returns whether two lists are the same slice.
func same(a, b []*clusterv1alpha1.Cluster) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// sort returns the clusters sorted by name, as sorted does, but checks each list only once.
func (m *Memo) sort(clusters []*clusterv1alpha1.Cluster) []*clusterv1alpha1.Cluster {
	if m == nil {
		return sorted(clusters)
	}
	if !same(m.sorted, clusters) {
		m.sorted = sorted(clusters)
	}
	return m.sorted
}
