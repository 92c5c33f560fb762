package filter_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/scheduler/filter"
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
		cluster    func(*clusterv1alpha1.Cluster)
		wantFilter string
		wantReason string
	}{
		"a cluster that has all it takes passes": {},
		"a cluster that nobody asked for": {
			affinity:   &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"edge-2"}},
			wantFilter: filter.ClusterAffinity, wantReason: "cluster(s) did not match the placement cluster affinity constraint",
		},
		"a target that nobody asks for any more": {
			binding:    targeted,
			affinity:   &policyv1alpha1.ClusterAffinity{ExcludeClusters: []string{"edge-1"}},
			wantFilter: filter.ClusterAffinity, wantReason: "cluster(s) did not match the placement cluster affinity constraint",
		},
		"a cluster that the application is leaving": {
			binding: func(s *workv1alpha2.ResourceBindingSpec) {
				s.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{FromCluster: "edge-1"}}
			},
			wantFilter: filter.ClusterEviction, wantReason: "cluster(s) is in the process of eviction",
		},
		"another cluster that the application is leaving": {
			binding: func(s *workv1alpha2.ResourceBindingSpec) {
				s.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{FromCluster: "edge-2"}}
			},
		},
		"the API is not served": {
			cluster:    func(c *clusterv1alpha1.Cluster) { c.Status.APIEnablements = c.Status.APIEnablements[:1] },
			wantFilter: filter.APIEnablement, wantReason: noAPI,
		},
		"the kind is served in another version": {
			binding:    func(s *workv1alpha2.ResourceBindingSpec) { s.Resource.APIVersion = "apps/v1beta1" },
			wantFilter: filter.APIEnablement, wantReason: noAPI,
		},
		"nothing is known of the cluster's APIs yet": {
			cluster:    func(c *clusterv1alpha1.Cluster) { c.Status.APIEnablements = nil },
			wantFilter: filter.APIEnablement, wantReason: noAPI,
		},
		"a target keeps the application when an API is not reported": {
			binding: targeted,
			cluster: func(c *clusterv1alpha1.Cluster) { c.Status.APIEnablements = nil },
		},
		"a taint keeps it out": {
			cluster: tainted(maintenance), wantFilter: filter.TaintToleration, wantReason: untolerated,
		},
		"a taint without a value": {
			cluster:    tainted(corev1.Taint{Key: "gone", Effect: corev1.TaintEffectNoExecute}),
			wantFilter: filter.TaintToleration, wantReason: "cluster(s) had untolerated taint {gone:NoExecute}",
		},
		"a target keeps the application in spite of a taint": {
			binding: targeted, cluster: tainted(maintenance),
		},
		"a taint that only prefers others is no obstacle": {
			cluster: tainted(corev1.Taint{Key: "slow", Effect: corev1.TaintEffectPreferNoSchedule}),
		},
		"a toleration of the same value": {
			binding: tolerating(corev1.Toleration{Key: "maintenance", Value: "disk"}), cluster: tainted(maintenance),
		},
		"a toleration of another value": {
			binding: tolerating(corev1.Toleration{Key: "maintenance", Value: "power"}), cluster: tainted(maintenance),
			wantFilter: filter.TaintToleration, wantReason: untolerated,
		},
		"a toleration of another effect": {
			binding: tolerating(corev1.Toleration{Key: "maintenance", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}),
			cluster: tainted(maintenance), wantFilter: filter.TaintToleration, wantReason: untolerated,
		},
		"a toleration of any value": {
			binding: tolerating(corev1.Toleration{Key: "maintenance", Operator: corev1.TolerationOpExists}), cluster: tainted(maintenance),
		},
		"a toleration of everything": {
			binding: tolerating(corev1.Toleration{Operator: corev1.TolerationOpExists}), cluster: tainted(maintenance),
		},
		"a toleration that says nothing": {
			binding: tolerating(corev1.Toleration{}), cluster: tainted(maintenance),
			wantFilter: filter.TaintToleration, wantReason: untolerated,
		},
		"a toleration with an operator that is not offered": {
			binding: tolerating(corev1.Toleration{Key: "maintenance", Operator: corev1.TolerationOpGt, Value: "1"}), cluster: tainted(maintenance),
			wantFilter: filter.TaintToleration, wantReason: untolerated,
		},
		"one of two taints is not tolerated": {
			binding:    tolerating(corev1.Toleration{Key: "maintenance", Operator: corev1.TolerationOpExists}),
			cluster:    tainted(maintenance, corev1.Taint{Key: "gone", Effect: corev1.TaintEffectNoSchedule}),
			wantFilter: filter.TaintToleration, wantReason: "cluster(s) had untolerated taint {gone:NoSchedule}",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			matcher, err := selector.CompileCluster(tt.affinity)
			g.Expect(err).NotTo(HaveOccurred())
			gotFilter, gotReason := first(filter.NewQuery(binding(tt.binding), matcher), member(tt.cluster))
			g.Expect(gotFilter).To(Equal(tt.wantFilter))
			g.Expect(gotReason).To(Equal(tt.wantReason))
		})
	}
}

func first(q *filter.Query, c *clusterv1alpha1.Cluster) (name, reason string) {
	for _, f := range filter.All() {
		if reason := f.Refuse(q, c); reason != "" {
			return f.Name, reason
		}
	}
	return "", ""
}

func TestAClusterThatIsBeingRemovedIsNeverATarget(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := metav1.Now()
	c := member(func(c *clusterv1alpha1.Cluster) { c.DeletionTimestamp = &now })
	name, reason := first(filter.NewQuery(binding(targeted), selector.ClusterMatcher{}), c)
	g.Expect(name).To(Equal(filter.Removal))
	g.Expect(reason).NotTo(BeEmpty())
}

func TestABindingWithoutPlacementHasNoTolerations(t *testing.T) {
	t.Parallel()
	q := filter.NewQuery(&workv1alpha2.ResourceBindingSpec{}, selector.ClusterMatcher{})
	NewWithT(t).Expect(q.Tolerations).To(BeEmpty())
}
