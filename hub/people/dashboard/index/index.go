package index

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/hub/people/view/clusters"
)

// Key is the namespace and name of a binding; a ClusterResourceBinding has no namespace.
type Key struct{ Namespace, Name string }

// Index holds the data of all lists. Neither the objects passed to it nor the rows that it returns may be changed. It
// is safe for concurrent use.
type Index struct {
	mu       sync.Mutex
	clusters map[string]*clusterv1alpha1.Cluster
	leases   map[string]*coordinationv1.Lease
	heard    applications.Clusters
	bindings map[Key]workv1alpha2.Binding
	apps     map[Key]*applications.Application
	// at are the applications in each cluster, and works their counts.
	at       map[string]map[Key]bool
	works    map[string]*clusters.Works
	policies map[applications.PolicyKey]policyv1alpha1.Policy
	rollouts map[Key]fairleadv1alpha1.Rollout
	changes  changes
	// sorted are all applications in order; nil if they must be sorted again.
	sorted []*applications.Application
}

// New returns an empty index.
func New() *Index {
	return &Index{
		clusters: map[string]*clusterv1alpha1.Cluster{}, leases: map[string]*coordinationv1.Lease{}, heard: applications.Clusters{},
		bindings: map[Key]workv1alpha2.Binding{}, apps: map[Key]*applications.Application{},
		at: map[string]map[Key]bool{}, works: map[string]*clusters.Works{}, policies: map[applications.PolicyKey]policyv1alpha1.Policy{},
		rollouts: map[Key]fairleadv1alpha1.Rollout{},
	}
}

// PutBinding adds or updates a binding.
func (x *Index) PutBinding(b workv1alpha2.Binding, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	key := Key{b.GetNamespace(), b.GetName()}
	x.bindings[key] = b
	x.put(key, b, now)
}

// DropBinding removes a binding.
func (x *Index) DropBinding(key Key, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	old := x.apps[key]
	if old == nil {
		return
	}
	x.changes.add(Change{At: now, Application: key, Template: old.Template, From: string(old.State), To: Gone})
	x.count(key, old, -1)
	delete(x.bindings, key)
	delete(x.apps, key)
	x.sorted = nil
}

func (x *Index) put(key Key, b workv1alpha2.Binding, now time.Time) {
	made := applications.Of(b, x.heard)
	if old := x.apps[key]; old != nil {
		if old.State != made.State {
			x.changes.add(Change{At: now, Application: key, Template: made.Template, From: string(old.State), To: string(made.State), Why: made.Why})
		}
		x.count(key, old, -1)
	}
	x.count(key, &made, 1)
	x.apps[key] = &made
	x.sorted = nil
}

// count adds an application to the counts of its clusters, or subtracts it.
func (x *Index) count(key Key, a *applications.Application, by int) {
	for i := range a.Places {
		p := &a.Places[i]
		n := x.works[p.Cluster]
		if n == nil {
			n = &clusters.Works{}
			x.works[p.Cluster], x.at[p.Cluster] = n, map[Key]bool{}
		}
		n.Total += by
		switch {
		case p.Leaving:
			n.Deleting += by
		case p.State == applications.Failing:
			n.Failing += by
		case p.Applied:
			n.Applied += by
		}
		if by > 0 {
			x.at[p.Cluster][key] = true
		} else {
			delete(x.at[p.Cluster], key)
		}
		if n.Total == 0 {
			delete(x.works, p.Cluster)
			delete(x.at, p.Cluster)
		}
	}
}

// PutPolicy adds or updates a policy.
func (x *Index) PutPolicy(p policyv1alpha1.Policy) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.policies[applications.KeyOf(p)] = p
}

// DropPolicy removes a policy.
func (x *Index) DropPolicy(p policyv1alpha1.Policy) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.policies, applications.KeyOf(p))
}

// Applications returns all applications, sorted by namespace, kind and name.
func (x *Index) Applications() []*applications.Application {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.sorted == nil {
		x.sorted = make([]*applications.Application, 0, len(x.apps))
		for _, a := range x.apps {
			x.sorted = append(x.sorted, a)
		}
		slices.SortFunc(x.sorted, compare)
	}
	return x.sorted
}

// Namespaces returns the sorted namespaces with applications or policies.
func (x *Index) Namespaces() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	has := map[string]bool{}
	for key := range x.apps {
		has[key.Namespace] = true
	}
	for key := range x.policies {
		has[key.Namespace] = true
	}
	delete(has, "")
	return slices.Sorted(maps.Keys(has))
}

// Application returns an application; nil if there is no such binding.
func (x *Index) Application(key Key) *applications.Application {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.apps[key]
}

// InCluster returns the applications in a cluster, sorted by namespace, kind and name.
func (x *Index) InCluster(cluster string) []*applications.Application {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := make([]*applications.Application, 0, len(x.at[cluster]))
	for key := range x.at[cluster] {
		out = append(out, x.apps[key])
	}
	slices.SortFunc(out, compare)
	return out
}

func compare(a, b *applications.Application) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

// Policies returns all policies, cluster-scoped ones first, with those of the given applications that each of them
// matches.
func (x *Index) Policies(apps []*applications.Application) []applications.Policy {
	x.mu.Lock()
	all := make([]policyv1alpha1.Policy, 0, len(x.policies))
	for _, p := range x.policies {
		all = append(all, p)
	}
	x.mu.Unlock()
	flat := make([]applications.Application, len(apps))
	for i, a := range apps {
		flat[i] = *a
	}
	return applications.Policies(all, flat)
}

// Policy returns a policy object; nil if there is none.
func (x *Index) Policy(name applications.PolicyKey) policyv1alpha1.Policy {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.policies[name]
}
