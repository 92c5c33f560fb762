package quota_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/quota"
)

// list makes a ResourceList from pairs of a name and a quantity.
func list(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i+1 < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

func in(replicas ...int32) []workv1alpha2.TargetCluster {
	out := make([]workv1alpha2.TargetCluster, len(replicas))
	for i, n := range replicas {
		out[i] = workv1alpha2.TargetCluster{Name: string(rune('a' + i)), Replicas: n}
	}
	return out
}

// text returns a ResourceList as strings, for comparisons.
func text(l corev1.ResourceList) map[string]string {
	out := map[string]string{}
	for name, amount := range l {
		out[string(name)] = amount.String()
	}
	return out
}

// web is a binding whose replicas of half a CPU are divided.
func web(replicas int32, has ...int32) *workv1alpha2.ResourceBindingSpec {
	return &workv1alpha2.ResourceBindingSpec{
		Replicas: replicas, Clusters: in(has...),
		ReplicaRequirements: &workv1alpha2.ReplicaRequirements{ResourceRequest: list("cpu", "500m", "memory", "1Gi")},
		Placement:           &policyv1alpha1.Placement{ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.Divided}},
	}
}

// asking replaces the resource requests of a replica.
func asking(spec *workv1alpha2.ResourceBindingSpec, pairs ...string) *workv1alpha2.ResourceBindingSpec {
	spec.ReplicaRequirements.ResourceRequest = list(pairs...)
	return spec
}

func leaving(spec *workv1alpha2.ResourceBindingSpec, replicas int32) *workv1alpha2.ResourceBindingSpec {
	spec.GracefulEvictionTasks = append(spec.GracefulEvictionTasks, workv1alpha2.GracefulEvictionTask{FromCluster: "z", Replicas: &replicas})
	return spec
}

// remembers returns an eviction from z in progress, before which other clusters had a copy.
func remembers(before ...int32) []workv1alpha2.Eviction {
	return []workv1alpha2.Eviction{{From: "z", Before: append(in(before...), workv1alpha2.TargetCluster{Name: "z"})}}
}

func duplicated(spec *workv1alpha2.ResourceBindingSpec) *workv1alpha2.ResourceBindingSpec {
	spec.Placement = nil
	return spec
}

func TestUsage(t *testing.T) {
	t.Parallel()
	components := &workv1alpha2.ResourceBindingSpec{Clusters: in(0, 0), Components: []workv1alpha2.Component{
		{Name: "head", Replicas: 1}, {Name: "worker", Replicas: 3, ReplicaRequirements: &workv1alpha2.ComponentReplicaRequirements{ResourceRequest: list("cpu", "2")}},
	}}
	negative := components.DeepCopy()
	negative.Components[0].ReplicaRequirements = &workv1alpha2.ComponentReplicaRequirements{ResourceRequest: list("cpu", "-1k")}
	one := components.DeepCopy()
	one.Clusters = in(0)
	over := remembers()
	over[0].Ended = &metav1.Time{}
	tests := map[string]struct {
		spec *workv1alpha2.ResourceBindingSpec
		past []workv1alpha2.Eviction
		want map[string]string
	}{
		"what is nowhere uses nothing":                                              {web(5), nil, map[string]string{}},
		"replicas are added up":                                                     {web(5, 3, 2), nil, map[string]string{"cpu": "2500m", "memory": "5Gi", "pods": "5"}},
		"what is copied counts in every cluster":                                    {duplicated(web(2, 2, 2)), nil, map[string]string{"cpu": "2", "memory": "4Gi", "pods": "4"}},
		"what is not a workload uses nothing":                                       {&workv1alpha2.ResourceBindingSpec{Clusters: in(0)}, nil, map[string]string{}},
		"pods that request nothing are pods":                                        {&workv1alpha2.ResourceBindingSpec{Replicas: 2, Clusters: in(2)}, nil, map[string]string{"pods": "2"}},
		"what is less than nothing is no credit":                                    {asking(web(2, 2), "cpu", "-1k", "memory", "1Gi"), nil, map[string]string{"memory": "2Gi", "pods": "2"}},
		"nor is it that of a component":                                             {negative, nil, map[string]string{"cpu": "12", "pods": "8"}},
		"components are added up, for each cluster":                                 {components, nil, map[string]string{"cpu": "12", "pods": "8"}},
		"what leaves a cluster keeps its place":                                     {leaving(web(5, 3), 2), nil, map[string]string{"cpu": "2500m", "memory": "5Gi", "pods": "5"}},
		"until it is replaced":                                                      {leaving(web(5, 3, 2), 2), nil, map[string]string{"cpu": "2500m", "memory": "5Gi", "pods": "5"}},
		"as far as it is wanted still":                                              {leaving(web(4, 3), 2), nil, map[string]string{"cpu": "2", "memory": "4Gi", "pods": "4"}},
		"a copy that leaves keeps its place":                                        {leaving(duplicated(web(2, 2)), 2), remembers(2), map[string]string{"cpu": "2", "memory": "4Gi", "pods": "4"}},
		"until another cluster has one":                                             {leaving(duplicated(web(2, 2)), 2), remembers(), map[string]string{"cpu": "1", "memory": "2Gi", "pods": "2"}},
		"which it has not for what left before":                                     {leaving(duplicated(web(2, 2)), 2), over, map[string]string{"cpu": "2", "memory": "4Gi", "pods": "4"}},
		"and of several that leave only this one":                                   {leaving(leaving(duplicated(web(2, 2)), 2), 2), remembers(), map[string]string{"cpu": "2", "memory": "4Gi", "pods": "4"}},
		"components that leave keep their place":                                    {leaving(one.DeepCopy(), 0), remembers(0), map[string]string{"cpu": "12", "pods": "8"}},
		"until another cluster has them":                                            {leaving(one.DeepCopy(), 0), remembers(), map[string]string{"cpu": "6", "pods": "4"}},
		"a copy that leaves counts until it is not there, if nothing is remembered": {leaving(duplicated(web(2, 2)), 2), nil, map[string]string{"cpu": "2", "memory": "4Gi", "pods": "4"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(text(quota.Usage(tt.spec, tt.past, tt.spec.Clusters))).To(Equal(tt.want))
		})
	}
}

func TestExceeded(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		overall, others corev1.ResourceList
		spec            *workv1alpha2.ResourceBindingSpec
		past            []workv1alpha2.Eviction
		targets         []workv1alpha2.TargetCluster
		want            string
	}{
		"all that is left":                             {list("cpu", "3"), list("cpu", "2"), web(2), nil, in(1, 1), ""},
		"more than is left":                            {list("cpu", "3"), list("cpu", "2001m"), web(2), nil, in(1, 1), "FederatedResourceQuota(shop/q) exceeded for resource cpu: requested sum 3001m, limit 3."},
		"the other name of requests":                   {list("requests.cpu", "500m"), nil, web(2), nil, in(1, 1), "FederatedResourceQuota(shop/q) exceeded for resource requests.cpu: requested sum 1, limit 500m."},
		"pods":                                         {list("pods", "3"), list("pods", "2"), web(2), nil, in(1, 1), "FederatedResourceQuota(shop/q) exceeded for resource pods: requested sum 4, limit 3."},
		"a resource that it does not request":          {list("nvidia.com/gpu", "0"), nil, web(2), nil, in(1, 1), ""},
		"what is not told by bindings":                 {list("limits.cpu", "0", "count/pods", "0", "services", "0"), nil, web(2), nil, in(1, 1), ""},
		"moving within a bound that was lowered":       {list("cpu", "0"), list("cpu", "9"), web(2, 1, 1), nil, in(2), ""},
		"scaling down within a bound that was lowered": {list("cpu", "0"), list("cpu", "9"), web(1, 1, 1), nil, in(1), ""},
		"scaling up":                                   {list("cpu", "1"), nil, web(3, 1, 1), nil, in(2, 1), "FederatedResourceQuota(shop/q) exceeded for resource cpu: requested sum 1500m, limit 1."},
		"another place for what leaves":                {list("cpu", "1"), list("cpu", "9"), leaving(web(2, 1), 1), nil, in(1, 1), ""},
		"another cluster for the copy that leaves":     {list("cpu", "1"), list("cpu", "9"), leaving(duplicated(web(2)), 2), remembers(), in(2), ""},
		"one copy more than those that leave":          {list("cpu", "1"), nil, leaving(duplicated(web(2)), 2), remembers(), in(2, 2), "FederatedResourceQuota(shop/q) exceeded for resource cpu: requested sum 2, limit 1."},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			quotas := []quota.Quota{{Namespace: "shop", Name: "q", Overall: tt.overall, UsedByOthers: tt.others}}
			overall, others := text(tt.overall), text(tt.others)
			before, after := quota.Usage(tt.spec, tt.past, tt.spec.Clusters), quota.Usage(tt.spec, tt.past, tt.targets)
			g.Expect(quota.Exceeded(quotas, before, after)).To(Equal(tt.want))
			g.Expect(quota.Exceeded(nil, before, after)).To(BeEmpty())
			g.Expect(text(tt.overall)).To(Equal(overall), "nothing is changed")
			g.Expect(text(tt.others)).To(Equal(others), "nothing is changed")
		})
	}
}

func TestWhatIsAdmittedCounts(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	spec := web(4, 2, 2)
	b := &workv1alpha2.ResourceBinding{Spec: *spec}
	was := text(quota.Usage(spec, nil, spec.Clusters))
	g.Expect(text(quota.InUse(b, spec.Clusters))).To(Equal(was), "nobody has compared anything yet")
	b.Annotations = map[string]string{contract.AdmittedRequestsAnnotation: quota.Admit(spec)}
	b.Spec.ReplicaRequirements = &workv1alpha2.ReplicaRequirements{ResourceRequest: list("cpu", "64")}
	g.Expect(text(quota.InUse(b, spec.Clusters))).To(Equal(was), "what is asked for is not used")
	b.Spec.Components = []workv1alpha2.Component{{Name: "a", Replicas: 64}}
	g.Expect(text(quota.InUse(b, spec.Clusters))).To(Equal(was), "nor is what has other parts")

	parts := &workv1alpha2.ResourceBindingSpec{Clusters: in(0), Components: []workv1alpha2.Component{
		{Name: "head", Replicas: 1}, {Name: "worker", Replicas: 3, ReplicaRequirements: &workv1alpha2.ComponentReplicaRequirements{ResourceRequest: list("cpu", "2")}},
	}}
	b = &workv1alpha2.ResourceBinding{Spec: *parts.DeepCopy()}
	b.Annotations = map[string]string{contract.AdmittedRequestsAnnotation: quota.Admit(parts)}
	b.Spec.Components[1].Replicas = 30
	g.Expect(text(quota.InUse(b, parts.Clusters))).To(Equal(map[string]string{"cpu": "6", "pods": "4"}))
	b.Annotations[contract.AdmittedRequestsAnnotation] = "{"
	g.Expect(text(quota.InUse(b, parts.Clusters))).To(Equal(map[string]string{"cpu": "60", "pods": "31"}), "what cannot be read admits what there is")
}

func TestBeyond(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	quotas := []quota.Quota{{Namespace: "shop", Name: "q", Overall: list("requests.cpu", "9", "limits.cpu", "1")}}
	g.Expect(quota.Beyond(quotas, list("cpu", "1"), list("cpu", "1", "memory", "9Gi"))).To(BeEmpty(), "memory is not bounded")
	g.Expect(quota.Beyond(quotas, list("cpu", "1"), list("cpu", "1001m"))).To(Equal("it would use 1001m of requests.cpu instead of 1, as FederatedResourceQuota(shop/q) counts it"))
	g.Expect(quota.Beyond(nil, nil, list("cpu", "1001m"))).To(BeEmpty())
}
