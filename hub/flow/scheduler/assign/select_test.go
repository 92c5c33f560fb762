package assign_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	. "github.com/onsi/gomega"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/hub/flow/scheduler/assign"
	"fairlead.dev/test/builder"
)

// at returns a candidate whose provider, zone and label "tier" all have the name of its region.
func at(name, region string, available int32) assign.Candidate {
	c := builder.MakeCluster(name).Label("tier", region).Obj()
	c.Spec.Region, c.Spec.Provider, c.Spec.Zones = region, region, []string{region}
	return assign.Candidate{Cluster: c, Available: available}
}

func by(field policyv1alpha1.SpreadField, least, most int) policyv1alpha1.SpreadConstraint {
	return policyv1alpha1.SpreadConstraint{SpreadByField: field, MinGroups: least, MaxGroups: most}
}

func label(least, most int) policyv1alpha1.SpreadConstraint {
	return policyv1alpha1.SpreadConstraint{SpreadByLabel: "tier", MinGroups: least, MaxGroups: most}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	regions := []assign.Candidate{at("a", "r1", 5), at("b", "r1", 1), at("c", "r2", 9), at("d", "r3", 4)}
	held := []assign.Candidate{at("a", "r1", 5), at("b", "r2", 9)}
	held[0].Available, held[0].Assigned, held[0].Target = 3, 2, true
	tests := map[string]struct {
		candidates  []assign.Candidate
		constraints []policyv1alpha1.SpreadConstraint
		need        int64
		want        []string
		wantError   string
	}{
		"without an upper bound all are selected":         {regions, []policyv1alpha1.SpreadConstraint{by("cluster", 1, 0)}, 0, []string{"a", "b", "c", "d"}, ""},
		"the clusters with the most capacity":             {regions, []policyv1alpha1.SpreadConstraint{by("cluster", 1, 2)}, 0, []string{"a", "c"}, ""},
		"one cluster with enough capacity is enough":      {regions, []policyv1alpha1.SpreadConstraint{by("cluster", 1, 1)}, 9, []string{"c"}, ""},
		"too few clusters":                                {regions, []policyv1alpha1.SpreadConstraint{by("cluster", 5, 0)}, 0, nil, "the number of feasible clusters is less than spreadConstraint.MinGroups"},
		"too little capacity":                             {regions, []policyv1alpha1.SpreadConstraint{by("cluster", 1, 2)}, 15, nil, "no enough resource when selecting 2 clusters"},
		"too few regions":                                 {regions, []policyv1alpha1.SpreadConstraint{by("region", 4, 0)}, 0, nil, "the number of feasible region is less than spreadConstraint.MinGroups"},
		"the fewest regions that suffice":                 {regions, []policyv1alpha1.SpreadConstraint{by("region", 2, 0)}, 12, []string{"a", "b", "c"}, ""},
		"more regions if fewer do not suffice":            {regions, []policyv1alpha1.SpreadConstraint{by("region", 1, 3)}, 18, []string{"a", "b", "c", "d"}, ""},
		"not more regions than allowed":                   {regions, []policyv1alpha1.SpreadConstraint{by("region", 1, 2)}, 18, nil, "no enough resource"},
		"zones":                                           {regions, []policyv1alpha1.SpreadConstraint{by("zone", 2, 2)}, 12, []string{"a", "b", "c"}, ""},
		"providers":                                       {regions, []policyv1alpha1.SpreadConstraint{by("provider", 2, 2)}, 12, []string{"a", "b", "c"}, ""},
		"values of a label":                               {regions, []policyv1alpha1.SpreadConstraint{label(2, 2)}, 12, []string{"a", "b", "c"}, ""},
		"clusters and regions":                            {regions, []policyv1alpha1.SpreadConstraint{by("region", 3, 3), by("cluster", 3, 3)}, 0, []string{"a", "c", "d"}, ""},
		"clusters and a label":                            {regions, []policyv1alpha1.SpreadConstraint{label(2, 0), by("cluster", 2, 2)}, 0, []string{"a", "c"}, ""},
		"the region where it runs is kept":                {held, []policyv1alpha1.SpreadConstraint{by("region", 1, 1)}, 3, []string{"a"}, ""},
		"another region if it does not fit where it runs": {held, []policyv1alpha1.SpreadConstraint{by("region", 1, 1)}, 8, []string{"b"}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got, err := assign.Select(assign.SelectRequest{Constraints: tt.constraints, Need: tt.need, Explain: true}, tt.candidates)
			if tt.wantError != "" {
				g.Expect(err).To(MatchError(ContainSubstring(tt.wantError)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			var names []string
			for i, in := range got.Selected {
				if in {
					names = append(names, tt.candidates[i].Cluster.Name)
				} else {
					g.Expect(got.Limits[i]).NotTo(BeEmpty())
				}
			}
			g.Expect(names).To(Equal(tt.want))
		})
	}
}

func selected(g *WithT, r assign.SelectRequest, candidates []assign.Candidate) []string {
	got, err := assign.Select(r, candidates)
	g.Expect(err).NotTo(HaveOccurred())
	var names []string
	for i, in := range got.Selected {
		if in {
			names = append(names, candidates[i].Cluster.Name)
		}
	}
	return names
}

func TestSelectCoversEveryRequiredRegion(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	candidates := []assign.Candidate{at("a", "north", 9), at("b", "north", 9), at("c", "south", 9)}
	g.Expect(selected(g, assign.SelectRequest{Constraints: []policyv1alpha1.SpreadConstraint{by("region", 2, 0), by("cluster", 1, 1)}}, candidates)).
		To(Equal([]string{"a", "c"}), "each required region has a cluster although the constraint allows fewer clusters than regions")
}

func TestSelectPrefersRegionWithMostFittingClusters(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	candidates := []assign.Candidate{at("a", "full", 1), at("b", "full", 1), at("c", "free", 4)}
	one := []policyv1alpha1.SpreadConstraint{by("region", 1, 1)}
	g.Expect(selected(g, assign.SelectRequest{Constraints: one, Each: 4}, candidates)).To(Equal([]string{"c"}))
	g.Expect(selected(g, assign.SelectRequest{Constraints: one}, candidates)).To(Equal([]string{"a", "b"}), "without replicas capacity does not matter")
}

func TestSelectKeepsSelectedClusters(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	candidates := []assign.Candidate{at("a", "z1", 1), at("b", "z2", 1), at("c", "z3", 1)}
	candidates[0].Cluster.Spec.Zones, candidates[1].Cluster.Spec.Zones = []string{"z1", "z2"}, []string{"z2", "z3"}
	r := assign.SelectRequest{Constraints: []policyv1alpha1.SpreadConstraint{by("zone", 1, 0)}}
	for i := range candidates {
		candidates[i].Target, candidates[i].Assigned, candidates[i].Available = true, 1, 0
	}
	g.Expect(selected(g, r, candidates)).To(Equal([]string{"a", "b", "c"}), "the selection is kept although one zone suffices")
	r.Fresh = true
	g.Expect(selected(g, r, candidates)).To(Equal([]string{"b", "c"}))
}

func TestClusterInTwoZonesCountsForBoth(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	candidates := []assign.Candidate{at("a", "z1", 9), at("b", "z2", 1)}
	candidates[1].Cluster.Spec.Zones = []string{"z1", "z2"}
	g.Expect(selected(g, assign.SelectRequest{Constraints: []policyv1alpha1.SpreadConstraint{by("zone", 2, 0), by("cluster", 1, 1)}}, candidates)).
		To(Equal([]string{"b"}))
}

// The limit on the number of tries counts only sets with enough groups. Sets with too few groups are not tried and must not use it up.
func TestSelectAmongThousandsOfClusters(t *testing.T) {
	t.Parallel()
	const clusters = 5000
	for name, tt := range map[string]struct {
		tier, region func(i int) string
		request      assign.SelectRequest
	}{
		"hundreds of sites with a cluster each": {
			tier: func(i int) string { return fmt.Sprintf("t%04d", i) }, region: func(int) string { return "r" },
			request: assign.SelectRequest{Constraints: []policyv1alpha1.SpreadConstraint{label(1, 0)}, Need: 2000},
		},
		"two regions, of any of eight tiers": {
			tier: func(i int) string { return fmt.Sprintf("t%d", i%8) }, region: func(i int) string { return fmt.Sprintf("r%d", i%10) },
			request: assign.SelectRequest{Constraints: []policyv1alpha1.SpreadConstraint{by("region", 1, 2), label(1, 0)}, Need: 2501},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			candidates := make([]assign.Candidate, clusters)
			for i := range candidates {
				candidates[i] = at(fmt.Sprintf("m%04d", i), tt.region(i), 5)
				candidates[i].Cluster.Labels["tier"] = tt.tier(i)
			}
			_, err := assign.Select(tt.request, candidates)
			g.Expect(err).NotTo(HaveOccurred())
		})
	}
}

// BenchmarkTooLittleRoom selects for a placement that no selection can satisfy. Such a placement is decided on again with every report of
// more capacity.
func BenchmarkTooLittleRoom(b *testing.B) {
	candidates := make([]assign.Candidate, 1000)
	for i := range candidates {
		candidates[i] = at(fmt.Sprintf("m%04d", i), fmt.Sprintf("r%02d", i%20), 5)
		candidates[i].Cluster.Labels["tier"] = fmt.Sprintf("t%04d", i)
	}
	for name, r := range map[string]assign.SelectRequest{
		"in all clusters":          {Constraints: []policyv1alpha1.SpreadConstraint{by("region", 2, 0)}, Need: 5001},
		"in the regions together":  {Constraints: []policyv1alpha1.SpreadConstraint{by("region", 2, 10)}, Need: 2501},
		"in the clusters together": {Constraints: []policyv1alpha1.SpreadConstraint{by("region", 2, 10), by("cluster", 1, 40)}, Need: 201},
		// Each cluster has its own label value. The search tries sets of them until it reaches its limits.
		"in regions and labels that exclude each other": {Constraints: []policyv1alpha1.SpreadConstraint{by("region", 1, 1), label(51, 0)}},
		"in regions and some of the labels":             {Constraints: []policyv1alpha1.SpreadConstraint{by("region", 1, 9), label(1, 500)}, Need: 2250},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := assign.Select(r, candidates); err == nil {
					b.Fatal("Select succeeded without enough capacity")
				}
			}
		})
	}
}

// BenchmarkManyConstraints selects for a placement with 16 or 400 label constraints, while a policy may have 16: by labels that no cluster
// has, or by labels of which the clusters have many values.
func BenchmarkManyConstraints(b *testing.B) {
	for _, clusters := range []int{1000, 5000} {
		candidates := make([]assign.Candidate, clusters)
		for i := range candidates {
			candidates[i] = at(fmt.Sprintf("m%04d", i), "r", 5)
			for j := range 16 {
				candidates[i].Cluster.Labels[fmt.Sprintf("own%d", j)] = fmt.Sprintf("t%d", i/(j+1))
			}
		}
		for _, constraints := range []int{16, 400} {
			for _, named := range []string{"none", "own"} {
				r := assign.SelectRequest{}
				for j := range constraints {
					r.Constraints = append(r.Constraints, policyv1alpha1.SpreadConstraint{SpreadByLabel: fmt.Sprintf("%s%d", named, j), MinGroups: 1})
				}
				b.Run(fmt.Sprintf("%d of %s in %d", constraints, named, clusters), func(b *testing.B) {
					for b.Loop() {
						if _, err := assign.Select(r, candidates); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

// TestSelectMeetsEveryConstraint checks, for random clusters and constraints, that each selection is within the bounds of every constraint.
func TestSelectMeetsEveryConstraint(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	random := rand.New(rand.NewPCG(5, 6))
	found := 0
	for range 2000 {
		candidates := make([]assign.Candidate, 1+random.IntN(10))
		for i := range candidates {
			candidates[i] = at(fmt.Sprintf("m%02d", i), fmt.Sprintf("r%d", random.IntN(4)), random.Int32N(20))
			candidates[i].Cluster.Spec.Zones = []string{fmt.Sprintf("z%d", random.IntN(3)), fmt.Sprintf("z%d", random.IntN(3))}
			candidates[i].Cluster.Labels["tier"] = fmt.Sprintf("t%d", random.IntN(3))
		}
		bound := func() (int, int) { least := 1 + random.IntN(2); return least, least + random.IntN(2) }
		var constraints []policyv1alpha1.SpreadConstraint
		for _, field := range []policyv1alpha1.SpreadField{"cluster", "region", "zone"} {
			if random.IntN(2) == 0 {
				least, most := bound()
				constraints = append(constraints, by(field, least, most))
			}
		}
		if least, most := bound(); random.IntN(2) == 0 {
			constraints = append(constraints, label(least, most))
		}
		need := random.Int64N(40)
		got, err := assign.Select(assign.SelectRequest{Constraints: constraints, Need: need}, candidates)
		if err != nil {
			continue
		}
		found++
		var capacity int64
		for i, in := range got.Selected {
			if in {
				capacity += int64(candidates[i].Available)
			}
		}
		g.Expect(capacity).To(BeNumerically(">=", need))
		for _, s := range constraints {
			n, most := len(values(s, candidates, got.Selected)), s.MaxGroups
			if s.SpreadByField == "cluster" {
				most = max(most, leastRegions(constraints)) // each region needs a cluster
			}
			g.Expect(n).To(And(BeNumerically(">=", s.MinGroups), BeNumerically("<=", most)), "%+v", s)
		}
	}
	g.Expect(found).To(BeNumerically(">", 500))
}

func leastRegions(constraints []policyv1alpha1.SpreadConstraint) int {
	for _, s := range constraints {
		if s.SpreadByField == "region" {
			return s.MinGroups
		}
	}
	return 0
}

func values(s policyv1alpha1.SpreadConstraint, candidates []assign.Candidate, selected []bool) map[string]bool {
	out := map[string]bool{}
	for i, in := range selected {
		if !in {
			continue
		}
		for _, v := range valuesOf(s, candidates[i].Cluster) {
			out[v] = true
		}
	}
	return out
}

func valuesOf(s policyv1alpha1.SpreadConstraint, c *clusterv1alpha1.Cluster) []string {
	switch s.SpreadByField {
	case "cluster":
		return []string{c.Name}
	case "region":
		return []string{c.Spec.Region}
	case "zone":
		return c.Spec.Zones
	default:
		return []string{c.Labels[s.SpreadByLabel]}
	}
}
