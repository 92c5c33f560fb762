package assign_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/hub/flow/scheduler/assign"
	"fairlead.dev/test/builder"
)

// fits returns the candidates m1, m2 and so on; each argument lists available, assigned and tier.
func fits(of ...[3]int32) []assign.Candidate {
	out := make([]assign.Candidate, len(of))
	for i, c := range of {
		out[i] = assign.Candidate{Cluster: builder.MakeCluster(fmt.Sprintf("m%d", i+1)).Obj(), Available: c[0], Assigned: c[1], Tier: int(c[2])}
	}
	return out
}

func TestReplicasByCapacity(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		strategy  assign.Strategy
		replicas  int32
		fresh     bool
		clusters  []assign.Candidate
		want      []int32
		wantShort *assign.Shortage
	}{
		"aggregated divides among the largest clusters that hold all replicas": {
			strategy: assign.Aggregated, replicas: 12, clusters: fits([3]int32{3}, [3]int32{10}, [3]int32{10}), want: []int32{0, 6, 6},
		},
		"scaling up divides only the added replicas": {
			strategy: assign.DynamicWeight, replicas: 9, clusters: fits([3]int32{0, 4}, [3]int32{30, 2}), want: []int32{4, 5},
		},
		"scaling down with aggregated empties the smallest share": {
			strategy: assign.Aggregated, replicas: 3, clusters: fits([3]int32{9, 4}, [3]int32{9, 5}), want: []int32{0, 3},
		},
		"aggregated adds replicas where the application is": {
			strategy: assign.Aggregated, replicas: 6, clusters: fits([3]int32{4, 2}, [3]int32{100}), want: []int32{6, 0},
		},
		"an application with all its replicas stays": {
			strategy: assign.DynamicWeight, replicas: 4, clusters: fits([3]int32{0, 4}, [3]int32{30}), want: []int32{4, 0},
		},
		"from scratch running replicas count as capacity": {
			strategy: assign.DynamicWeight, replicas: 8, fresh: true, clusters: fits([3]int32{0, 8}, [3]int32{8}), want: []int32{4, 4},
		},
		"dynamic weights are the clusters' capacities": {
			strategy: assign.DynamicWeight, replicas: 9, clusters: fits([3]int32{10}, [3]int32{20}), want: []int32{3, 6},
		},
		"too little capacity": {
			strategy: assign.DynamicWeight, replicas: 9, clusters: fits([3]int32{2, 1}, [3]int32{3}),
			wantShort: &assign.Shortage{Available: 5, Wanted: 8},
		},
		"overflow clusters take what is left": {
			strategy: assign.DynamicWeight, replicas: 7, clusters: fits([3]int32{5}, [3]int32{9, 0, 1}, [3]int32{9, 0, 2}), want: []int32{5, 2, 0},
		},
		"scaling down empties overflow clusters first": {
			strategy: assign.Aggregated, replicas: 5, clusters: fits([3]int32{0, 5}, [3]int32{9, 2, 1}), want: []int32{5, 0},
		},
		"all tiers together have too little capacity": {
			strategy: assign.Aggregated, replicas: 9, clusters: fits([3]int32{5}, [3]int32{1, 0, 1}),
			wantShort: &assign.Shortage{Available: 6, Wanted: 9},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			shares, short := assign.Replicas(assign.Request{Strategy: tt.strategy, Replicas: tt.replicas, Fresh: tt.fresh}, tt.clusters)
			g.Expect(short).To(Equal(tt.wantShort))
			if short == nil {
				g.Expect(shares).To(Equal(tt.want))
			}
		})
	}
}

// TestScalingMovesOnlyTheDifference checks for random clusters that the shares add up, that none exceeds the capacity, and that scaling moves
// no replicas beyond the difference.
func TestScalingMovesOnlyTheDifference(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	random := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		candidates := make([]assign.Candidate, 1+random.IntN(8))
		var assigned, available int32
		for i := range candidates {
			c := &candidates[i]
			*c = assign.Candidate{Cluster: builder.MakeCluster(fmt.Sprintf("m%d", i)).Obj(), Available: random.Int32N(20), Assigned: random.Int32N(10), Tier: random.IntN(2)}
			assigned += c.Assigned
			available += c.Available
		}
		r := assign.Request{Strategy: []assign.Strategy{assign.DynamicWeight, assign.Aggregated}[random.IntN(2)], Replicas: 1 + random.Int32N(60)}
		shares, short := assign.Replicas(r, candidates)
		if r.Replicas > assigned+available {
			g.Expect(short).NotTo(BeNil())
			continue
		}
		g.Expect(short).To(BeNil())
		var sum, moved int32
		for i, share := range shares {
			sum += share
			moved += max(share-candidates[i].Assigned, candidates[i].Assigned-share)
			g.Expect(share).To(BeNumerically("<=", candidates[i].Available+candidates[i].Assigned))
		}
		g.Expect(sum).To(Equal(r.Replicas))
		g.Expect(moved).To(Equal(max(r.Replicas-assigned, assigned-r.Replicas)), "%v %v", candidates, shares)
	}
}
