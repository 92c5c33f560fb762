package plan

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/revision"
	"fairlead.dev/common/selector"
)

// Waves divides the targets into the waves of a strategy: each is in exactly one, the first that it fits in. There is one wave for each of
// Defaulted(Strategy).Waves, which may be empty.
func Waves(in Input) []revision.Wave {
	waves := Defaulted(in.Strategy).Waves
	left := slices.Clone(in.Targets)
	out := make([]revision.Wave, 0, len(waves))
	for i := range waves {
		w := &waves[i]
		fit := slices.DeleteFunc(slices.Clone(left), func(c *clusterv1alpha1.Cluster) bool { return !matches(w, c) })
		order(fit, w.OrderByLabel, in.Seed)
		if w.Size != nil {
			fit = fit[:min(len(fit), Scaled(w.Size, len(in.Targets), true))]
		}
		taken := revision.Wave{Name: w.Name}
		for _, c := range fit {
			taken.Clusters = append(taken.Clusters, c.Name)
		}
		gone := sets.New(taken.Clusters...)
		left = slices.DeleteFunc(left, func(c *clusterv1alpha1.Cluster) bool { return gone.Has(c.Name) })
		out = append(out, taken)
	}
	return out
}

// Place returns the index of the wave of a target that was added after the waves were made: the first that it matches and that has no size,
// or else the last.
func Place(strategy *fairleadv1alpha1.RolloutStrategySpec, c *clusterv1alpha1.Cluster) int {
	waves := Defaulted(*strategy).Waves
	for i := range waves {
		if waves[i].Size == nil && matches(&waves[i], c) {
			return i
		}
	}
	return len(waves) - 1
}

func matches(w *fairleadv1alpha1.Wave, c *clusterv1alpha1.Cluster) bool {
	return w.Clusters == nil || selector.Cluster(w.Clusters, c)
}

// order sorts clusters by a label, if one is given, and ties by a rank that differs between applications. If all values are numbers, it
// compares them as numbers.
func order(clusters []*clusterv1alpha1.Cluster, label, seed string) {
	numbers := label != "" && !slices.ContainsFunc(clusters, func(c *clusterv1alpha1.Cluster) bool {
		value, has := c.Labels[label]
		_, err := strconv.ParseInt(value, 10, 64)
		return has && err != nil
	})
	slices.SortFunc(clusters, func(a, b *clusterv1alpha1.Cluster) int {
		if label != "" {
			if c := compareLabels(a, b, label, numbers); c != 0 {
				return c
			}
		}
		return cmp.Or(cmp.Compare(rank(seed, a.Name), rank(seed, b.Name)), cmp.Compare(a.Name, b.Name))
	})
}

func compareLabels(a, b *clusterv1alpha1.Cluster, label string, numbers bool) int {
	va, hasA := a.Labels[label]
	vb, hasB := b.Labels[label]
	switch {
	case hasA != hasB && hasA:
		return -1
	case hasA != hasB:
		return 1
	case numbers && hasA:
		na, _ := strconv.ParseInt(va, 10, 64)
		nb, _ := strconv.ParseInt(vb, 10, 64)
		return cmp.Compare(na, nb)
	default:
		return cmp.Compare(va, vb)
	}
}

func rank(seed, cluster string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(seed + "/" + cluster))
	// FNV mixes the last bytes too little, so that names like shop-001 would stay nearly in order: finish with a mixing step of
	// MurmurHash3.
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}
