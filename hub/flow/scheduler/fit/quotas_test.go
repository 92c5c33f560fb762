package fit_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/flow/scheduler/fit"
)

// leaving makes a cluster report what the quotas of a namespace leave free.
func leaving(namespace string, scope *clusterv1alpha1.PriorityClassScope, pairs ...string) func(*clusterv1alpha1.Cluster) {
	return func(c *clusterv1alpha1.Cluster) {
		c.Status.NamespaceQuotas = append(c.Status.NamespaceQuotas, clusterv1alpha1.NamespaceQuota{Namespace: namespace, PriorityClass: scope, Free: list(pairs...)})
	}
}

func in(values ...string) *clusterv1alpha1.PriorityClassScope {
	return &clusterv1alpha1.PriorityClassScope{Operator: corev1.ScopeSelectorOpIn, Values: values}
}

// TestReplicasInANamespace expects the smaller of what the cluster has free, 7 CPUs and 85 pods, and what the quotas of the namespace
// leave.
func TestReplicasInANamespace(t *testing.T) {
	t.Parallel()
	low := requires("cpu", "1")
	low.PriorityClassName = "low"
	shop := func(pods int64, pairs ...string) fit.Assumed {
		a := fit.Amount{Resources: list(pairs...), Pods: pods}
		return fit.Assumed{Amount: a, Namespaces: map[string]fit.Amount{"shop": a}}
	}
	tests := map[string]struct {
		cluster *clusterv1alpha1.Cluster
		assumed fit.Assumed
		req     *workv1alpha2.ReplicaRequirements
		want    fit.Capacity
	}{
		"the quota is tighter": {
			cluster: reporting(leaving("shop", nil, "cpu", "2500m")), req: requires("cpu", "1"),
			want: fit.Capacity{Replicas: 2, Limit: "ResourceQuota: cpu"},
		},
		"the cluster is tighter": {
			cluster: reporting(leaving("shop", nil, "cpu", "50")), req: requires("cpu", "1"), want: fit.Capacity{Replicas: 7, Limit: "cpu"},
		},
		"nothing is left": {
			cluster: reporting(leaving("shop", nil, "cpu", "0")), req: requires("cpu", "1"), want: fit.Capacity{Limit: "ResourceQuota: cpu"},
		},
		"another namespace": {
			cluster: reporting(leaving("other", nil, "cpu", "0")), req: requires("cpu", "1"), want: fit.Capacity{Replicas: 7, Limit: "cpu"},
		},
		"pods without requests": {
			cluster: reporting(leaving("shop", nil, "cpu", "0", "pods", "3")), want: fit.Capacity{Replicas: 3, Limit: "ResourceQuota: pods"},
		},
		"what is not requested does not matter": {
			cluster: reporting(leaving("shop", nil, "memory", "0", "example.com/gpu", "0")), req: requires("cpu", "1"), want: fit.Capacity{Replicas: 7, Limit: "cpu"},
		},
		"the first by name of equal limits": {
			cluster: reporting(leaving("shop", nil, "memory", "1Gi", "cpu", "1", "pods", "1")), req: requires("cpu", "1", "memory", "1Gi"),
			want: fit.Capacity{Replicas: 1, Limit: "ResourceQuota: cpu"},
		},
		"what was assigned to the namespace counts until it is reported": {
			cluster: reporting(leaving("shop", nil, "cpu", "4", "pods", "50")), assumed: shop(2, "cpu", "3"), req: requires("cpu", "1"),
			want: fit.Capacity{Replicas: 1, Limit: "ResourceQuota: cpu"},
		},
		"what was assigned to another namespace does not count": {
			cluster: reporting(leaving("shop", nil, "cpu", "2")), req: requires("cpu", "1"),
			assumed: fit.Assumed{Namespaces: map[string]fit.Amount{"other": {Resources: list("cpu", "2"), Pods: 2}}},
			want:    fit.Capacity{Replicas: 2, Limit: "ResourceQuota: cpu"},
		},
		"more is assigned than is left": {
			cluster: reporting(leaving("shop", nil, "pods", "1")), assumed: shop(9), want: fit.Capacity{Limit: "ResourceQuota: pods"},
		},
		"a priority class": {
			cluster: reporting(leaving("shop", nil, "cpu", "5"), leaving("shop", in("low"), "cpu", "1")), req: low,
			want: fit.Capacity{Replicas: 1, Limit: "ResourceQuota: cpu"},
		},
		"another priority class": {
			cluster: reporting(leaving("shop", in("high"), "cpu", "1")), req: low, want: fit.Capacity{Replicas: 7, Limit: "cpu"},
		},
		"negative values count as zero": {
			cluster: reporting(leaving("shop", nil, "cpu", "-99", "pods", "-1")), req: requires("cpu", "1"), want: fit.Capacity{Limit: "ResourceQuota: cpu"},
		},
		"huge values do not overflow": {
			cluster: reporting(leaving("shop", nil, "cpu", "9P", "pods", "9E")), req: requires("cpu", "1"), want: fit.Capacity{Replicas: 7, Limit: "cpu"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(fit.Replicas(tt.cluster, tt.assumed, "shop", tt.req)).To(Equal(tt.want))
		})
	}
}

func TestSetsInANamespace(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	components := []workv1alpha2.Component{component("driver", 1, "cpu", "500m"), component("worker", 3, "cpu", "500m")}
	c := reporting(leaving("shop", nil, "cpu", "5", "pods", "100"))
	g.Expect(fit.Sets(c, fit.Assumed{}, "shop", components)).To(Equal(fit.Capacity{Replicas: 2, Limit: "ResourceQuota: cpu"}))
	g.Expect(fit.Sets(c, fit.Assumed{}, "other", components).Limit).To(Equal("cpu"))
	components[1].ReplicaRequirements.PriorityClassName = "low"
	c = reporting(leaving("shop", in("low"), "pods", "5"))
	g.Expect(fit.Sets(c, fit.Assumed{}, "shop", components)).To(Equal(fit.Capacity{Replicas: 1, Limit: "ResourceQuota: pods"}), "the quota of the workers' priority class counts")
}

func TestMoreFreeByQuota(t *testing.T) {
	t.Parallel()
	quotas := func(do ...func(*clusterv1alpha1.Cluster)) []clusterv1alpha1.NamespaceQuota {
		return reporting(do...).Status.NamespaceQuotas
	}
	before := quotas(leaving("shop", nil, "cpu", "1"), leaving("shop", in("low"), "pods", "1"))
	tests := map[string]struct {
		after []clusterv1alpha1.NamespaceQuota
		want  bool
	}{
		"the same":                 {after: before},
		"less":                     {after: quotas(leaving("shop", nil, "cpu", "0"), leaving("shop", in("low"), "pods", "0"))},
		"a new quota":              {after: append(quotas(leaving("web", nil, "cpu", "9")), before...)},
		"a new bound":              {after: quotas(leaving("shop", nil, "cpu", "1", "pods", "3"), leaving("shop", in("low"), "pods", "1"))},
		"more":                     {after: quotas(leaving("shop", nil, "cpu", "2"), leaving("shop", in("low"), "pods", "1")), want: true},
		"more for a class":         {after: quotas(leaving("shop", nil, "cpu", "1"), leaving("shop", in("low"), "pods", "2")), want: true},
		"a bound that was removed": {after: quotas(leaving("shop", nil), leaving("shop", in("low"), "pods", "1")), want: true},
		"a quota that was deleted": {after: before[:1], want: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(fit.MoreFreeByQuota(before, tt.after)).To(Equal(tt.want))
		})
	}
}
