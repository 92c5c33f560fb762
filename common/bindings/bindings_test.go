package bindings_test

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
)

func TestDivided(t *testing.T) {
	t.Parallel()
	by := func(kind policyv1alpha1.ReplicaSchedulingType) *policyv1alpha1.Placement {
		return &policyv1alpha1.Placement{ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: kind}}
	}
	tests := map[string]struct {
		spec workv1alpha2.ResourceBindingSpec
		want bool
	}{
		"replicas that are divided": {
			spec: workv1alpha2.ResourceBindingSpec{Replicas: 3, Placement: by(policyv1alpha1.Divided)}, want: true,
		},
		"a workload that is scaled to 0 stays divided": {
			spec: workv1alpha2.ResourceBindingSpec{ReplicaRequirements: &workv1alpha2.ReplicaRequirements{}, Placement: by(policyv1alpha1.Divided)}, want: true,
		},
		"what has no replicas is no workload": {spec: workv1alpha2.ResourceBindingSpec{Placement: by(policyv1alpha1.Divided)}},
		"replicas that are duplicated":        {spec: workv1alpha2.ResourceBindingSpec{Replicas: 3, Placement: by(policyv1alpha1.Duplicated)}},
		"no strategy":                         {spec: workv1alpha2.ResourceBindingSpec{Replicas: 3, Placement: &policyv1alpha1.Placement{}}},
		"no placement":                        {spec: workv1alpha2.ResourceBindingSpec{Replicas: 3}},
		"several components go whole": {
			spec: workv1alpha2.ResourceBindingSpec{Replicas: 3, Placement: by(policyv1alpha1.Divided), Components: make([]workv1alpha2.Component, 2)},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(bindings.Divided(&tt.spec)).To(Equal(tt.want))
		})
	}
}

func TestATemplateGoesWhereItIsScheduledAndWhereOthersNeedIt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	spec := &workv1alpha2.ResourceBindingSpec{
		Clusters: []workv1alpha2.TargetCluster{{Name: "c", Replicas: 1}, {Name: "a", Replicas: 2}},
		RequiredBy: []workv1alpha2.BindingSnapshot{
			{Name: "web", Clusters: []workv1alpha2.TargetCluster{{Name: "a", Replicas: 9}, {Name: "b"}}}, {Name: "db", Clusters: []workv1alpha2.TargetCluster{{Name: "b"}}},
		},
		GracefulEvictionTasks: []workv1alpha2.GracefulEvictionTask{{FromCluster: "d"}, {FromCluster: "e", PurgeMode: policyv1alpha1.PurgeDirectly}},
	}
	g.Expect(bindings.Targets(spec)).To(Equal([]workv1alpha2.TargetCluster{{Name: "c", Replicas: 1}, {Name: "a", Replicas: 2}, {Name: "b"}}))
	g.Expect(bindings.Places(spec)).To(Equal([]string{"a", "b", "c", "d"}))
	g.Expect(bindings.IsTarget(spec, "b")).To(BeTrue())
	g.Expect(bindings.IsTarget(spec, "d")).To(BeFalse())
	g.Expect(spec.Clusters).To(HaveLen(2), "what was read is not changed")
}

func TestAWorkloadNeedsWhatItsBindingNotesOrMayNeedAllWithoutNotes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &workv1alpha2.ResourceBinding{}
	needs := func(kind, name string) bool {
		return bindings.Needs(b, &workv1alpha2.ObjectReference{APIVersion: "v1", Kind: kind, Namespace: "shop", Name: name})
	}
	g.Expect(needs("ConfigMap", "settings")).To(BeTrue(), "nothing is noted yet")
	b.Annotations = map[string]string{contract.DependenciesAnnotation: `[
		{"apiVersion":"v1","kind":"ConfigMap","namespace":"shop","name":"settings"},
		{"apiVersion":"v1","kind":"Secret","namespace":"shop","labelSelector":{"matchLabels":{"app":"web"}}}]`}
	g.Expect(needs("ConfigMap", "settings")).To(BeTrue())
	g.Expect(needs("ConfigMap", "other")).To(BeFalse())
	g.Expect(needs("Secret", "any")).To(BeTrue(), "who has the labels is not known here")
	g.Expect(needs("ServiceAccount", "settings")).To(BeFalse())

	b.Annotations[contract.DependenciesAnnotation] = `[{"apiVersion":"example.com/v1beta1","kind":"Database","namespace":"shop","name":"orders"}]`
	for apiVersion, want := range map[string]bool{"example.com/v1beta1": true, "example.com/v1": true, "example.org/v1beta1": false} {
		obj := &workv1alpha2.ObjectReference{APIVersion: apiVersion, Kind: "Database", Namespace: "shop", Name: "orders"}
		g.Expect(bindings.Needs(b, obj)).To(Equal(want), "a policy may have it in another version: %s", apiVersion)
	}
}

func TestTheBindingOfAWork(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	key := func(annotations map[string]string) types.NamespacedName {
		out, ok := bindings.KeyOf(&workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}})
		g.Expect(ok).To(Equal(out.Name != ""))
		return out
	}
	g.Expect(key(map[string]string{contract.ResourceBindingNamespaceAnnotation: "shop", contract.ResourceBindingNameAnnotation: "web"})).
		To(Equal(types.NamespacedName{Namespace: "shop", Name: "web"}))
	g.Expect(key(map[string]string{contract.ClusterResourceBindingNameAnnotation: "reader"})).To(Equal(types.NamespacedName{Name: "reader"}))
	g.Expect(key(map[string]string{contract.ResourceBindingNameAnnotation: "web"})).To(BeZero())
}

func TestReplicasThatAClusterReports(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	item := func(status string) *workv1alpha2.AggregatedStatusItem {
		return &workv1alpha2.AggregatedStatusItem{Status: &runtime.RawExtension{Raw: []byte(status)}}
	}
	counts, ok := bindings.CountsOf(item(`{"replicas":3,"readyReplicas":2,"updatedReplicas":1}`))
	g.Expect(ok).To(BeTrue())
	g.Expect(counts).To(Equal(bindings.Counts{Replicas: 3, Ready: 2, Updated: 1}))
	counts, ok = bindings.CountsOf(item(`{"replicas":-3}`))
	g.Expect(ok).To(BeTrue())
	g.Expect(counts).To(BeZero(), "less than none is none")
	for _, status := range []string{`{"phase":"Active"}`, `{"replicas":"many"}`, `{"replicas":99999999999}`, `[`} {
		_, ok = bindings.CountsOf(item(status))
		g.Expect(ok).To(BeFalse(), status)
	}
	_, ok = bindings.Ready(nil)
	g.Expect(ok).To(BeFalse())
}

func TestTheWorksOfAnotherBindingAreNotItsOwn(t *testing.T) {
	t.Parallel()
	work := func(annotations map[string]string) *workv1alpha1.Work {
		return &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-edge-1", Name: "web-1", Annotations: annotations}}
	}
	namespaced := func(namespace, name string) map[string]string {
		return map[string]string{contract.ResourceBindingNamespaceAnnotation: namespace, contract.ResourceBindingNameAnnotation: name}
	}
	web := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	everywhere := &workv1alpha2.ClusterResourceBinding{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	cases := map[string]struct {
		of          workv1alpha2.Binding
		annotations map[string]string
		want        bool
	}{
		"it names the binding":                        {web, namespaced("shop", "web"), true},
		"it names one of another name":                {web, namespaced("shop", "copy"), false},
		"it names one of another namespace":           {web, namespaced("bank", "web"), false},
		"it names none":                               {web, nil, true},
		"it names a cluster-scoped one":               {web, map[string]string{contract.ClusterResourceBindingNameAnnotation: "web"}, false},
		"it names the cluster-scoped binding":         {everywhere, map[string]string{contract.ClusterResourceBindingNameAnnotation: "web"}, true},
		"a cluster-scoped one has none of the others": {everywhere, namespaced("shop", "web"), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(bindings.IsOwn(tc.of, work(tc.annotations))).To(Equal(tc.want))
		})
	}
}
