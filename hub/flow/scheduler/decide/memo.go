package decide

import (
	"slices"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/hub/flow/scheduler/fit"
)

// memoized is how many answers of each sort a Memo keeps: those of so many placements, and of so many sizes of a replica.
const memoized = 64

// Memo remembers between decisions what is the same for many applications: which clusters the filters let through, by placement
// and kind, and how much fits into each beside what is reserved there, by what a replica requests. A decision then asks about the
// clusters that are others since, or have other reservations, and about those to which the application has a relation of its own; the others it only counts. What a decision
// comes to is the same as without. The zero value is ready; one decision at a time may have it.
type Memo struct {
	filtered answers[filterKey, refused]
	fits     answers[string, room]
	// sorted are the clusters that were seen to be sorted last.
	sorted []*clusterv1alpha1.Cluster
	// seen are the clusters by themselves, as filters see them, and reserved with what is reserved in them.
	seen, reserved seen
	// memory is what attempts work in.
	memory memory
}

// filterKey is all that filters go by, but for relations of the application to single clusters.
type filterKey struct {
	placement, apiVersion, kind, allowance string
	group, overflow                        int
}

// refused says which filter keeps a cluster out, and why; nothing if none does.
type refused struct{ filter, reason string }

// answers are those to some questions, of each for all clusters. Of too many questions those that come later take the place of
// the oldest.
type answers[K comparable, V any] struct {
	of    map[K]*answer[V]
	order []K
	// asked are questions that were asked once, of which as many are remembered.
	asked []K
}

// seen are the clusters of the last question, which are others than those of the one before by their versions. Answers go by these, so
// that one that nobody asks for any more keeps none of the clusters in memory that it was asked of: thousands for each answer.
type seen struct {
	clusters []*clusterv1alpha1.Cluster
	reserved fit.Reservations
	names    []string
	// states are those of the clusters, and places where the reservations have them.
	states []state
	places []int
	// versions are numbers that grow: each is that of one state of one cluster. The newest is the last of them.
	versions []uint64
	newest   uint64
}

// state is a cluster and what is reserved in it. Both are never changed, only replaced.
type state struct {
	cluster *clusterv1alpha1.Cluster
	assumed *fit.Assumed
}

// look takes note of clusters, which are sorted by name, and of what is reserved in them, and says whether any of that is other than before.
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

// assumed is what is reserved in the i-th cluster.
func (s *seen) assumed(i int) fit.Assumed {
	if assumed := s.states[i].assumed; assumed != nil {
		return *assumed
	}
	return fit.Assumed{}
}

// align calls a function with the places of each name that is in both of two lists, which are sorted.
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

// answer has a value for each cluster, and of which version of it.
type answer[V any] struct {
	names    []string
	versions []uint64
	values   []V
	// newest is the newest version that there was.
	newest uint64
}

// again says whether a question was asked before. What is asked once is not worth to be answered for all clusters.
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

// get returns the value of each of the clusters that were seen, not to be changed: those that were asked for before of the clusters that
// are still in the same state. Of the others value is asked, by their index.
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

// update brings the values up to date with the clusters that were seen.
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

// sameNames says whether two lists of names are one.
func sameNames(a, b []string) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// same says whether two lists are one.
func same(a, b []*clusterv1alpha1.Cluster) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// sort returns the clusters by name, as sorted does, and looks only once whether a list is sorted.
func (m *Memo) sort(clusters []*clusterv1alpha1.Cluster) []*clusterv1alpha1.Cluster {
	if m == nil {
		return sorted(clusters)
	}
	if !same(m.sorted, clusters) {
		m.sorted = sorted(clusters)
	}
	return m.sorted
}
