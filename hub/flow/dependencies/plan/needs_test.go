package plan

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

func TestNamedInAnotherVersionIsNotHeld(t *testing.T) {
	t.Parallel()
	orders := func(version string) configv1alpha1.DependentObjectReference {
		return configv1alpha1.DependentObjectReference{APIVersion: version, Kind: "Database", Namespace: "shop", Name: "orders"}
	}
	named := []configv1alpha1.DependentObjectReference{orders("example.com/v1")}
	NewWithT(t).Expect(names(named, orders("example.com/v1beta1"))).To(BeTrue())
	NewWithT(t).Expect(names(named, orders("example.org/v1"))).To(BeFalse())
}

func TestSuspensionHoldsDependencies(t *testing.T) {
	t.Parallel()
	ref := func(name string) configv1alpha1.DependentObjectReference {
		return configv1alpha1.DependentObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: name}
	}
	attached := func(name string) workv1alpha2.Binding {
		b := &workv1alpha2.ResourceBinding{}
		b.Namespace = "shop"
		b.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: name, UID: "u", ResourceVersion: "7"}
		return b
	}
	crafted := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}}
	crafted.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "admin"}
	labelled := configv1alpha1.DependentObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", LabelSelector: &metav1.LabelSelector{}}
	on := func(clusters ...string) *workv1alpha2.Suspension {
		return &workv1alpha2.Suspension{Suspension: policyv1alpha1.Suspension{DispatchingOnClusters: &policyv1alpha1.SuspendClusters{ClusterNames: clusters}}}
	}
	tests := map[string]struct {
		suspension *workv1alpha2.Suspension
		leaving    string
		staged     bool
		want       []configv1alpha1.DependentObjectReference
	}{
		"no suspension":                                        {},
		"a cluster is suspended":                               {suspension: on("edge-2"), want: []configv1alpha1.DependentObjectReference{ref("first"), ref("old")}},
		"a cluster without the workload is suspended":          {suspension: on("edge-9")},
		"a cluster that it is leaving gracefully is suspended": {suspension: on("edge-9"), leaving: "edge-9", want: []configv1alpha1.DependentObjectReference{ref("first"), ref("old")}},
		"all clusters are suspended":                           {suspension: &workv1alpha2.Suspension{Suspension: policyv1alpha1.Suspension{Dispatching: new(true)}}, want: []configv1alpha1.DependentObjectReference{ref("first"), ref("old")}},
		"only scheduling is suspended":                         {suspension: &workv1alpha2.Suspension{Scheduling: new(true)}},
		"the workload is staged":                               {suspension: on("edge-2"), staged: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			b := &workv1alpha2.ResourceBinding{}
			b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "edge-1"}, {Name: "edge-2"}}
			b.Spec.Suspension = tt.suspension
			if tt.leaving != "" {
				b.Spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{FromCluster: tt.leaving}}
			}
			if tt.staged {
				metav1.SetMetaDataAnnotation(&b.ObjectMeta, contract.RolloutStrategyAnnotation, "careful")
			}
			named := []configv1alpha1.DependentObjectReference{labelled, ref("new")}
			got := NeedsOf(b, named, Answerers{}, []workv1alpha2.Binding{attached("old"), attached("new"), crafted, attached("first")})
			g.Expect(got.Held).To(Equal(tt.want))
			g.Expect(got.Refs).To(Equal(append(named, tt.want...)))
			g.Expect(Without(got.Refs, got.Held)).To(Equal(named))
		})
	}
}

func TestRulesThatAreGoneKeepOrphans(t *testing.T) {
	t.Parallel()
	attached := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}}
	attached.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "old"}
	old := []configv1alpha1.DependentObjectReference{{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "old"}}
	tests := map[string]struct {
		by    Answerers
		named []configv1alpha1.DependentObjectReference
		want  []configv1alpha1.DependentObjectReference
		noted string
	}{
		"all rules exist":                                           {by: Answerers{There: []string{"b", "a", "b"}}, noted: "a,b"},
		"the rules of one are gone":                                 {by: Answerers{There: []string{"b"}, Gone: []string{"a"}}, want: old, noted: "a,b"},
		"one has only rules for another version":                    {by: Answerers{Others: []string{"c"}}, want: old, noted: "c"},
		"no rules, and none recorded":                               {by: Answerers{Unknown: true}, want: old},
		"the rules of one are gone, but the others name the object": {by: Answerers{There: []string{"b"}, Gone: []string{"a"}}, named: old, noted: "b"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got := NeedsOf(&workv1alpha2.ResourceBinding{}, tt.named, tt.by, []workv1alpha2.Binding{attached})
			g.Expect(got.Orphans).To(Equal(tt.want))
			g.Expect(got.By.noted(got.Orphans)).To(Equal(tt.noted))
		})
	}
}
