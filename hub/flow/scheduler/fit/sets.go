package fit

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/quantity"
)

// Bounds of a simulation, whatever an agent reports. Beyond them, the result is what was placed so far, which is less than fits.
const (
	mostNodes  = 10_000
	mostPlaced = 100_000
)

// Sets returns how many more sets of components fit into a cluster, where one set is all replicas of all components.
func Sets(c *clusterv1alpha1.Cluster, assumed Assumed, namespace string, components []workv1alpha2.Component) Capacity {
	s := c.Capacity()
	if s == nil {
		return Capacity{Limit: LimitNoSummary}
	}
	pods, sum := int64(0), map[corev1.ResourceName]int64{}
	parties := make([]party, len(components))
	for i := range components {
		parties[i] = partyOf(&components[i])
		replicas := int64(max(0, components[i].Replicas))
		pods += replicas
		for name := range requestOf(&components[i]) {
			sum[name] = quantity.Plus(sum[name], multiply(max(0, amount(requestOf(&components[i]), name)), replicas))
		}
	}
	b := bound{n: max(0, free(s, assumed, corev1.ResourcePods)) / max(1, pods), limit: LimitPods}
	for _, w := range byName(sum) {
		if w.n > 0 {
			b.lower(max(0, free(s, assumed, w.name))/w.n, string(w.name))
		}
	}
	if grades := gradesOf(c); len(grades) > 0 && b.n > 0 && pods > 0 {
		b.lower(simulate(grades, assumed, components, b.n), LimitModels)
	}
	b.quotas(c, namespace, assumed, parties)
	return b.capacity()
}

// byName returns the amounts, without pods, sorted by name.
func byName(amounts map[corev1.ResourceName]int64) []demand {
	out := make([]demand, 0, len(amounts))
	for name, n := range amounts {
		if name != corev1.ResourcePods {
			out = append(out, demand{name, n})
		}
	}
	slices.SortFunc(out, func(a, b demand) int { return strings.Compare(string(a.name), string(b.name)) })
	return out
}

func partyOf(c *workv1alpha2.Component) party {
	p := party{request: requestOf(c), replicas: int64(max(0, c.Replicas))}
	if c.ReplicaRequirements != nil {
		p.class = c.ReplicaRequirements.PriorityClassName
	}
	return p
}

func requestOf(c *workv1alpha2.Component) corev1.ResourceList {
	if c.ReplicaRequirements == nil {
		return nil
	}
	return c.ReplicaRequirements.ResourceRequest
}

// node is the free resources of a node, in the order of the simulation's resources.
type node struct {
	free []int64
	pods int64
}

// placing is a component in a simulation.
type placing struct {
	replicas int64
	wants    []int64
	// from is the first node that may still have capacity: a replica that did not fit into a node will not fit later.
	from int
}

// simulate places whole sets on nodes by first fit, until a set does not fit or there are enough.
func simulate(grades []grade, assumed Assumed, components []workv1alpha2.Component, enough int64) int64 {
	all := map[corev1.ResourceName]int64{}
	for name := range graded(grades) {
		all[name] = 0
	}
	resources := byName(all)
	nodes := nodesOf(grades, assumed, resources)
	parties := make([]placing, 0, len(components))
	for i := range components {
		p := placing{replicas: int64(max(0, components[i].Replicas)), wants: make([]int64, len(resources))}
		for j, r := range resources {
			p.wants[j] = max(0, amount(requestOf(&components[i]), r.name))
		}
		parties = append(parties, p)
	}
	var sets, placed int64
	for ; sets < enough; sets++ {
		for i := range parties {
			for range parties[i].replicas {
				if placed == mostPlaced || !parties[i].place(nodes) {
					return sets
				}
				placed++
			}
		}
	}
	return sets
}

// place places one replica on the first node with enough free, and returns whether there was one.
func (p *placing) place(nodes []node) bool {
	for ; p.from < len(nodes); p.from++ {
		if nodes[p.from].take(p.wants) {
			return true
		}
	}
	return false
}

func (n *node) take(wants []int64) bool {
	if n.pods == 0 {
		return false
	}
	for i, w := range wants {
		if w > n.free[i] {
			return false
		}
	}
	for i, w := range wants {
		n.free[i] -= w
	}
	n.pods--
	return true
}

// nodesOf returns the nodes, the smallest first, less what was assigned since the report.
func nodesOf(grades []grade, assumed Assumed, resources []demand) []node {
	var out []node
	left := make([]int64, len(resources))
	for i, r := range resources {
		left[i] = max(0, amount(assumed.Resources, r.name))
	}
	for i := range grades {
		for range min(grades[i].nodes, mostNodes-int64(len(out))) {
			n := node{free: make([]int64, len(resources)), pods: podsOfNode}
			for j, r := range resources {
				has := amount(grades[i].least, r.name)
				taken := min(has, left[j])
				n.free[j], left[j] = has-taken, left[j]-taken
			}
			out = append(out, n)
		}
	}
	return out
}
