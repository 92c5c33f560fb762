package fit_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/scheduler/fit"
	"fairlead.dev/test/builder"
)

// member returns a cluster that serves Deployments.
func member(change func(*clusterv1alpha1.Cluster)) *clusterv1alpha1.Cluster {
	c := builder.MakeCluster("edge-1").Obj()
	c.Status.APIEnablements = []clusterv1alpha1.APIEnablement{
		{GroupVersion: "v1", Resources: []clusterv1alpha1.APIResource{{Name: "pods", Kind: "Pod"}}},
		{GroupVersion: "apps/v1", Resources: []clusterv1alpha1.APIResource{{Name: "daemonsets", Kind: "DaemonSet"}, {Name: "deployments", Kind: "Deployment"}}},
	}
	if change != nil {
		change(c)
	}
	return c
}

func binding(change func(*workv1alpha2.ResourceBindingSpec)) *workv1alpha2.ResourceBindingSpec {
	s := &workv1alpha2.ResourceBindingSpec{
		Resource:  workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment"},
		Placement: &policyv1alpha1.Placement{},
	}
	if change != nil {
		change(s)
	}
	return s
}

func tainted(taints ...corev1.Taint) func(*clusterv1alpha1.Cluster) {
	return func(c *clusterv1alpha1.Cluster) { c.Spec.Taints = taints }
}

func tolerating(tolerations ...corev1.Toleration) func(*workv1alpha2.ResourceBindingSpec) {
	return func(s *workv1alpha2.ResourceBindingSpec) { s.Placement.ClusterTolerations = tolerations }
}

func targeted(s *workv1alpha2.ResourceBindingSpec) {
	s.Clusters = []workv1alpha2.TargetCluster{{Name: "edge-1"}}
}

// complete marks the cluster's list of APIs as complete.
func complete(c *clusterv1alpha1.Cluster) {
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
		Type: clusterv1alpha1.ClusterCompleteAPIEnablements, Status: metav1.ConditionTrue, Reason: clusterv1alpha1.ReasonAPIEnablementsComplete,
	})
}

func TestFilters(t *testing.T) {
	t.Parallel()
	maintenance := corev1.Taint{Key: "maintenance", Value: "disk", Effect: corev1.TaintEffectNoSchedule}
	const (
		untolerated = "cluster(s) had untolerated taint {maintenance=disk:NoSchedule}"
		noAPI       = "cluster(s) did not have the API resource"
	)
	tests := map[string]struct {
		binding    func(*workv1alpha2.ResourceBindingSpec)
		affinity   *policyv1alpha1.ClusterAffinity
		coming     []string
		cluster    func(*clusterv1alpha1.Cluster)
		wantFilter string
		wantReason string
	}{
		"a cluster that meets all requirements passes": {},
		"a cluster that the affinity does not select": {
			affinity:   &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"edge-2"}},
			wantFilter: fit.ClusterAffinity, wantReason: "cluster(s) did not match the placement cluster affinity constraint",
		},
		"a target that the affinity does not select any more": {
			binding:    targeted,
			affinity:   &policyv1alpha1.ClusterAffinity{ExcludeClusters: []string{"edge-1"}},
			wantFilter: fit.ClusterAffinity, wantReason: "cluster(s) did not match the placement cluster affinity constraint",
		},
		"a cluster that the application is leaving": {
			binding: func(s *workv1alpha2.ResourceBindingSpec) {
				s.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{FromCluster: "edge-1"}}
			},
			wantFilter: fit.ClusterEviction, wantReason: "cluster(s) is in the process of eviction",
		},
		"another cluster that the application is leaving": {
			binding: func(s *workv1alpha2.ResourceBindingSpec) {
				s.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{FromCluster: "edge-2"}}
			},
		},
		"the API is not served": {
			cluster:    func(c *clusterv1alpha1.Cluster) { c.Status.APIEnablements = c.Status.APIEnablements[:1] },
			wantFilter: fit.APIEnablement, wantReason: noAPI,
		},
		"the kind is served in another version": {
			binding:    func(s *workv1alpha2.ResourceBindingSpec) { s.Resource.APIVersion = "apps/v1beta1" },
			wantFilter: fit.APIEnablement, wantReason: noAPI,
		},
		"nothing is known of the cluster's APIs yet": {
			cluster:    func(c *clusterv1alpha1.Cluster) { c.Status.APIEnablements = nil },
			wantFilter: fit.APIEnablement, wantReason: noAPI,
		},
		"the API is being propagated by this hub": {
			coming:  []string{"edge-2", "edge-1"},
			cluster: func(c *clusterv1alpha1.Cluster) { c.Status.APIEnablements = c.Status.APIEnablements[:1] },
		},
		"the API is being propagated to another cluster": {
			coming:     []string{"edge-2"},
			cluster:    func(c *clusterv1alpha1.Cluster) { c.Status.APIEnablements = c.Status.APIEnablements[:1] },
			wantFilter: fit.APIEnablement, wantReason: noAPI,
		},
		"a target keeps the application when an API is not reported": {
			binding: targeted,
			cluster: func(c *clusterv1alpha1.Cluster) { c.Status.APIEnablements = nil },
		},
		"a target keeps the application when the kind is served in another version only": {
			binding: func(s *workv1alpha2.ResourceBindingSpec) {
				targeted(s)
				s.Resource.APIVersion = "apps/v1beta1"
			},
			cluster: complete,
		},
		"a cluster that is not a target and serves another version": {
			binding: func(s *workv1alpha2.ResourceBindingSpec) {
				s.Clusters = []workv1alpha2.TargetCluster{{Name: "edge-2"}}
				s.Resource.APIVersion = "apps/v1beta1"
			},
			cluster:    complete,
			wantFilter: fit.APIEnablement, wantReason: noAPI,
		},
		"a target loses the application when the kind is served in no version": {
			binding: targeted,
			cluster: func(c *clusterv1alpha1.Cluster) {
				complete(c)
				c.Status.APIEnablements[1].Resources = c.Status.APIEnablements[1].Resources[:1]
			},
			wantFilter: fit.APIEnablement, wantReason: noAPI,
		},
		"a kind of the same name in another group": {
			binding: func(s *workv1alpha2.ResourceBindingSpec) {
				targeted(s)
				s.Resource.APIVersion = "apps.example.com/v1"
			},
			cluster:    complete,
			wantFilter: fit.APIEnablement, wantReason: noAPI,
		},
		"a kind of the same name in the core group": {
			binding: func(s *workv1alpha2.ResourceBindingSpec) {
				targeted(s)
				s.Resource.APIVersion = "v1"
			},
			cluster:    complete,
			wantFilter: fit.APIEnablement, wantReason: noAPI,
		},
		"a taint that is not tolerated": {
			cluster: tainted(maintenance), wantFilter: fit.TaintToleration, wantReason: untolerated,
		},
		"a taint without a value": {
			cluster:    tainted(corev1.Taint{Key: "gone", Effect: corev1.TaintEffectNoExecute}),
			wantFilter: fit.TaintToleration, wantReason: "cluster(s) had untolerated taint {gone:NoExecute}",
		},
		"a target keeps the application in spite of a taint": {
			binding: targeted, cluster: tainted(maintenance),
		},
		"a PreferNoSchedule taint": {
			cluster: tainted(corev1.Taint{Key: "slow", Effect: corev1.TaintEffectPreferNoSchedule}),
		},
		"a toleration of the same value": {
			binding: tolerating(corev1.Toleration{Key: "maintenance", Value: "disk"}), cluster: tainted(maintenance),
		},
		"a toleration of another value": {
			binding: tolerating(corev1.Toleration{Key: "maintenance", Value: "power"}), cluster: tainted(maintenance),
			wantFilter: fit.TaintToleration, wantReason: untolerated,
		},
		"a toleration of another effect": {
			binding: tolerating(corev1.Toleration{Key: "maintenance", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}),
			cluster: tainted(maintenance), wantFilter: fit.TaintToleration, wantReason: untolerated,
		},
		"a toleration of any value": {
			binding: tolerating(corev1.Toleration{Key: "maintenance", Operator: corev1.TolerationOpExists}), cluster: tainted(maintenance),
		},
		"a toleration of everything": {
			binding: tolerating(corev1.Toleration{Operator: corev1.TolerationOpExists}), cluster: tainted(maintenance),
		},
		"an empty toleration": {
			binding: tolerating(corev1.Toleration{}), cluster: tainted(maintenance),
			wantFilter: fit.TaintToleration, wantReason: untolerated,
		},
		"a toleration with an unsupported operator": {
			binding: tolerating(corev1.Toleration{Key: "maintenance", Operator: corev1.TolerationOpGt, Value: "1"}), cluster: tainted(maintenance),
			wantFilter: fit.TaintToleration, wantReason: untolerated,
		},
		"one of two taints is not tolerated": {
			binding:    tolerating(corev1.Toleration{Key: "maintenance", Operator: corev1.TolerationOpExists}),
			cluster:    tainted(maintenance, corev1.Taint{Key: "gone", Effect: corev1.TaintEffectNoSchedule}),
			wantFilter: fit.TaintToleration, wantReason: "cluster(s) had untolerated taint {gone:NoSchedule}",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			matcher, err := selector.CompileCluster(tt.affinity)
			g.Expect(err).NotTo(HaveOccurred())
			q := fit.NewQuery(binding(tt.binding), matcher)
			var coming []workv1alpha2.TargetCluster
			for _, name := range tt.coming {
				coming = append(coming, workv1alpha2.TargetCluster{Name: name})
			}
			q.APIPending = bindings.ClustersOf(coming)
			gotFilter, gotReason := first(q, member(tt.cluster))
			g.Expect(gotFilter).To(Equal(tt.wantFilter))
			g.Expect(gotReason).To(Equal(tt.wantReason))
		})
	}
}

func TestSpreadProperties(t *testing.T) {
	t.Parallel()
	by := func(field policyv1alpha1.SpreadField) policyv1alpha1.SpreadConstraint {
		return policyv1alpha1.SpreadConstraint{SpreadByField: field}
	}
	tests := map[string]struct {
		constraint policyv1alpha1.SpreadConstraint
		cluster    func(*clusterv1alpha1.Cluster)
		want       string
	}{
		"every cluster counts as one":              {constraint: by(policyv1alpha1.SpreadByCluster)},
		"a cluster without a region":               {constraint: by(policyv1alpha1.SpreadByRegion), want: "cluster(s) did not have region property"},
		"a cluster with a region":                  {constraint: by(policyv1alpha1.SpreadByRegion), cluster: func(c *clusterv1alpha1.Cluster) { c.Spec.Region = "r" }},
		"a cluster without a provider":             {constraint: by(policyv1alpha1.SpreadByProvider), want: "cluster(s) did not have provider property"},
		"a cluster with a provider":                {constraint: by(policyv1alpha1.SpreadByProvider), cluster: func(c *clusterv1alpha1.Cluster) { c.Spec.Provider = "p" }},
		"a cluster without a zone":                 {constraint: by(policyv1alpha1.SpreadByZone), want: "cluster(s) did not have zones property"},
		"a cluster with zones":                     {constraint: by(policyv1alpha1.SpreadByZone), cluster: func(c *clusterv1alpha1.Cluster) { c.Spec.Zones = []string{"a", "b"} }},
		"a cluster with the deprecated field zone": {constraint: by(policyv1alpha1.SpreadByZone), cluster: func(c *clusterv1alpha1.Cluster) { c.Spec.Zone = "a" }},
		"a cluster without the label":              {constraint: policyv1alpha1.SpreadConstraint{SpreadByLabel: "rack"}, want: "cluster(s) did not have label rack"},
		"a cluster with the label":                 {constraint: policyv1alpha1.SpreadConstraint{SpreadByLabel: "rack"}, cluster: func(c *clusterv1alpha1.Cluster) { c.Labels = map[string]string{"rack": "7"} }},
		"a cluster with an empty label": {
			constraint: policyv1alpha1.SpreadConstraint{SpreadByLabel: "rack"}, cluster: func(c *clusterv1alpha1.Cluster) { c.Labels = map[string]string{"rack": ""} },
			want: "cluster(s) did not have label rack",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			for _, has := range []func(*workv1alpha2.ResourceBindingSpec){nil, targeted} {
				spec := binding(has)
				spec.Placement.SpreadConstraints = []policyv1alpha1.SpreadConstraint{by(policyv1alpha1.SpreadByCluster), tt.constraint}
				name, reason := first(fit.NewQuery(spec, selector.ClusterMatcher{}), member(tt.cluster))
				g.Expect(reason).To(Equal(tt.want))
				g.Expect(name == fit.SpreadConstraint).To(Equal(tt.want != ""))
			}
		})
	}
}

func TestWorkloadAffinity(t *testing.T) {
	t.Parallel()
	const (
		here, there = "edge-1", "edge-2"
		notWith     = "ResourceBinding with the same affinity group does not target this cluster"
		taken       = "cluster already has workload with the same anti-affinity group"
	)
	at := func(clusters ...string) fit.Peer { return fit.Peer{Name: "peer", Clusters: at(clusters...)} }
	tests := map[string]struct {
		peers      fit.Peers
		binding    func(*workv1alpha2.ResourceBindingSpec)
		wantFilter string
		wantReason string
	}{
		"affinity to a peer in this cluster":                {peers: fit.Peers{Together: []fit.Peer{at(here, there)}}},
		"affinity to a peer in another cluster":             {peers: fit.Peers{Together: []fit.Peer{at(there)}}, wantFilter: fit.WorkloadAffinity, wantReason: notWith},
		"affinity to two peers, one in another cluster":     {peers: fit.Peers{Together: []fit.Peer{at(here), at(there)}}, wantFilter: fit.WorkloadAffinity, wantReason: notWith},
		"affinity to a peer without clusters":               {peers: fit.Peers{Together: []fit.Peer{at()}}},
		"a target stays although its peer left":             {peers: fit.Peers{Together: []fit.Peer{at(there)}}, binding: targeted},
		"anti-affinity to a peer in this cluster":           {peers: fit.Peers{Apart: []fit.Peer{at(there, here)}}, wantFilter: fit.WorkloadAntiAffinity, wantReason: taken},
		"anti-affinity to a peer in another cluster":        {peers: fit.Peers{Apart: []fit.Peer{at(there)}}},
		"a target stays although another peer is there":     {peers: fit.Peers{Apart: []fit.Peer{at(here)}}, binding: targeted},
		"affinity to one peer and anti-affinity to another": {peers: fit.Peers{Together: []fit.Peer{at(here)}, Apart: []fit.Peer{at(here)}}, wantFilter: fit.WorkloadAntiAffinity, wantReason: taken},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			q := fit.NewQuery(binding(tt.binding), selector.ClusterMatcher{})
			q.Peers = tt.peers
			gotFilter, gotReason := first(q, member(nil))
			g.Expect(gotFilter).To(Equal(tt.wantFilter))
			g.Expect(gotReason).To(Equal(tt.wantReason))
			if tt.wantFilter != "" {
				g.Expect(fit.Explain(gotFilter, q, member(nil))).To(ContainSubstring(`"peer"`))
			}
		})
	}
}

func first(q *fit.Query, c *clusterv1alpha1.Cluster) (name, reason string) {
	for _, f := range fit.Filters() {
		if reason := f.Refuse(q, c); reason != "" {
			return f.Name, reason
		}
	}
	return "", ""
}

func TestClusterBeingDeletedIsNoNewTarget(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := metav1.Now()
	c := member(func(c *clusterv1alpha1.Cluster) { c.DeletionTimestamp = &now })
	name, reason := first(fit.NewQuery(binding(nil), selector.ClusterMatcher{}), c)
	g.Expect(name).To(Equal(fit.Removal))
	g.Expect(reason).NotTo(BeEmpty())
	name, _ = first(fit.NewQuery(binding(targeted), selector.ClusterMatcher{}), c)
	g.Expect(name).To(BeEmpty(), "a target stays until it is evicted")
}

func TestABindingWithoutPlacementHasNoTolerations(t *testing.T) {
	t.Parallel()
	q := fit.NewQuery(&workv1alpha2.ResourceBindingSpec{}, selector.ClusterMatcher{})
	NewWithT(t).Expect(q.Tolerations).To(BeEmpty())
}

func TestExplainNamesTheLabelsOfACluster(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(fit.Explain(fit.NamespaceClusters, &fit.Query{}, member(func(c *clusterv1alpha1.Cluster) { c.Labels = nil }))).To(Equal("the cluster has no labels"))
}
