package render_test

import (
	"context"
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/common/override"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/binding/render"
)

func deployment() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1",
		"kind":       "Deployment",
		"metadata": map[string]any{
			"name": "foo", "namespace": "default", "uid": "u-1", "generation": int64(3), "resourceVersion": "7",
			"creationTimestamp": "2026-01-01T00:00:00Z",
			"labels":            map[string]any{"app": "foo"},
			"annotations":       map[string]any{"note": "<b> & more", "deployment.kubernetes.io/revision": "4"},
			"managedFields":     []any{map[string]any{"manager": "kubectl"}},
			"finalizers":        []any{"x/y"},
			"ownerReferences":   []any{map[string]any{"name": "o"}},
		},
		"spec": map[string]any{
			"replicas": int64(5),
			"template": map[string]any{"spec": map[string]any{
				"containers": []any{map[string]any{"name": "web", "image": "nginx:1.27", "resources": map[string]any{}}},
				"volumes":    []any{map[string]any{"name": "tmp", "emptyDir": map[string]any{}}},
			}},
		},
		"status": map[string]any{"replicas": int64(5)},
	}}
}

func binding(change func(*workv1alpha2.ResourceBinding)) *workv1alpha2.ResourceBinding {
	b := &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{
			Name: "foo-deployment", Namespace: "default",
			Labels: map[string]string{contract.ResourceBindingPermanentIDLabel: "b-1"},
		},
		Spec: workv1alpha2.ResourceBindingSpec{
			Replicas: 5,
			Clusters: []workv1alpha2.TargetCluster{{Name: "edge-1", Replicas: 2}, {Name: "edge-2", Replicas: 3}},
		},
	}
	if change != nil {
		change(b)
	}
	return b
}

func revise(obj *unstructured.Unstructured, replicas int32) (*unstructured.Unstructured, error) {
	return native.New().ReviseReplicas(context.Background(), obj, replicas)
}

func input(change func(*render.Input)) render.Input {
	in := render.Input{
		Template:                 deployment(),
		Binding:                  binding(nil),
		Target:                   workv1alpha2.TargetCluster{Name: "edge-1", Replicas: 2},
		Cluster:                  &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "edge-1"}},
		Revise:                   revise,
		ExecutionNamespacePrefix: contract.DefaultExecutionNamespacePrefix,
	}
	if change != nil {
		change(&in)
	}
	if !native.New().Has(in.Template.GroupVersionKind(), interpreter.ReviseReplica) {
		in.Revise = nil
	}
	return in
}

func manifestOf(g *WithT, work *workv1alpha1.Work) *unstructured.Unstructured {
	g.Expect(work.Spec.Workload.Manifests).To(HaveLen(1))
	obj := &unstructured.Unstructured{}
	g.Expect(obj.UnmarshalJSON(work.Spec.Workload.Manifests[0].Raw)).To(Succeed())
	return obj
}

func TestWorkOfADeployment(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	work, err := render.Work(input(nil))
	g.Expect(err).NotTo(HaveOccurred())

	g.Expect(work.Namespace).To(Equal("karmada-es-edge-1"))
	g.Expect(work.Name).To(Equal("foo-58bcf5bd9c"))
	g.Expect(work.Finalizers).To(Equal([]string{contract.ExecutionFinalizer}))
	id := work.Labels[contract.WorkPermanentIDLabel]
	g.Expect(id).To(HaveLen(36))
	g.Expect(work.Labels).To(Equal(map[string]string{contract.ResourceBindingPermanentIDLabel: "b-1", contract.WorkPermanentIDLabel: id}))
	g.Expect(work.Annotations).To(HaveLen(4))
	g.Expect(work.Annotations).To(HaveKeyWithValue(contract.ResourceBindingNamespaceAnnotation, "default"))
	g.Expect(work.Annotations).To(HaveKeyWithValue(contract.ResourceBindingNameAnnotation, "foo-deployment"))
	g.Expect(work.Annotations).To(HaveKeyWithValue(contract.ConflictResolutionAnnotation, "abort"))
	g.Expect(work.Annotations[contract.ManifestHashAnnotation]).To(HaveLen(64))
	g.Expect(*work.Spec.SuspendDispatching).To(BeFalse())
	g.Expect(*work.Spec.PreserveResourcesOnDeletion).To(BeFalse())

	g.Expect(manifestOf(g, work).Object).To(BeComparableTo(map[string]any{
		"apiVersion": "apps/v1",
		"kind":       "Deployment",
		"metadata": map[string]any{
			"name": "foo", "namespace": "default",
			"labels": map[string]any{
				"app":                                    "foo",
				contract.ManagedLabel:                    "true",
				contract.ResourceBindingPermanentIDLabel: "b-1",
				contract.WorkPermanentIDLabel:            id,
			},
			"annotations": map[string]any{
				"note": "<b> & more",
				contract.ResourceBindingNamespaceAnnotation: "default",
				contract.ResourceBindingNameAnnotation:      "foo-deployment",
				contract.ConflictResolutionAnnotation:       "abort",
				contract.WorkNamespaceAnnotation:            "karmada-es-edge-1",
				contract.WorkNameAnnotation:                 "foo-58bcf5bd9c",
				contract.TemplateUIDAnnotation:              "u-1",
				contract.TemplateGenerationAnnotation:       "3",
				contract.ManagedLabelsAnnotation:            "app,karmada.io/managed,resourcebinding.karmada.io/permanent-id,work.karmada.io/permanent-id",
				contract.ManagedAnnotationsAnnotation: "note,resourcebinding.karmada.io/name,resourcebinding.karmada.io/namespace," +
					"resourcetemplate.karmada.io/generation,resourcetemplate.karmada.io/managed-annotations,resourcetemplate.karmada.io/managed-labels," +
					"resourcetemplate.karmada.io/uid,work.karmada.io/conflict-resolution,work.karmada.io/name,work.karmada.io/namespace",
			},
		},
		"spec": map[string]any{
			"replicas": int64(2),
			"template": map[string]any{"spec": map[string]any{
				"containers": []any{map[string]any{"name": "web", "image": "nginx:1.27", "resources": map[string]any{}}},
				"volumes":    []any{map[string]any{"name": "tmp", "emptyDir": map[string]any{}}},
			}},
		},
	}))
}

func TestWorkIsReproducible(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := input(func(in *render.Input) {
		in.Overrides = override.Select(override.Policies{Namespaced: []policyv1alpha1.OverridePolicy{relabel()}}, selector.TargetOf(in.Template))
	})
	before, err := json.Marshal(in.Template.Object)
	g.Expect(err).NotTo(HaveOccurred())

	first, err := render.Work(in)
	g.Expect(err).NotTo(HaveOccurred())
	for range 20 {
		again, err := render.Work(in)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(again).To(Equal(first))
	}
	after, err := json.Marshal(in.Template.Object)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(after)).To(Equal(string(before)))
	g.Expect(in.Binding).To(Equal(binding(nil)))
}

func TestWorkOfAClusterScopedTemplate(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	work, err := render.Work(input(func(in *render.Input) {
		in.Template = &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
			"metadata": map[string]any{"name": "system:view"},
		}}
		in.Binding = &workv1alpha2.ClusterResourceBinding{ObjectMeta: metav1.ObjectMeta{
			Name: "system.view-clusterrole", Labels: map[string]string{contract.ClusterResourceBindingPermanentIDLabel: "c-1"},
		}}
	}))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(work.Name).To(Equal(contract.WorkName("ClusterRole", "", "system:view")))
	g.Expect(work.Labels).To(HaveKeyWithValue(contract.ClusterResourceBindingPermanentIDLabel, "c-1"))
	g.Expect(work.Annotations).To(HaveKeyWithValue(contract.ClusterResourceBindingNameAnnotation, "system.view-clusterrole"))
	g.Expect(work.Annotations).NotTo(HaveKey(contract.ResourceBindingNameAnnotation))
	manifest := manifestOf(g, work)
	g.Expect(manifest.GetName()).To(Equal("system:view"))
	g.Expect(manifest.GetAnnotations()).NotTo(HaveKey(contract.TemplateGenerationAnnotation), "a template without a generation gets no annotation")
}

func TestPermanentIDOfAWork(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	id := func(change func(*render.Input)) string {
		work, err := render.Work(input(change))
		g.Expect(err).NotTo(HaveOccurred())
		return work.Labels[contract.WorkPermanentIDLabel]
	}
	one := id(nil)
	g.Expect(id(func(in *render.Input) { in.Template.SetAnnotations(nil) })).To(Equal(one), "the id does not depend on the template")
	g.Expect(id(func(in *render.Input) { in.Target.Name = "edge-2" })).NotTo(Equal(one), "the id depends on the cluster")
	g.Expect(id(func(in *render.Input) {
		in.Binding.SetLabels(map[string]string{contract.ResourceBindingPermanentIDLabel: "b-2"})
	})).NotTo(Equal(one), "the id depends on the binding")
}

func TestWorkNeedsThePermanentIDOfItsBinding(t *testing.T) {
	t.Parallel()
	_, err := render.Work(input(func(in *render.Input) { in.Binding.SetLabels(nil) }))
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring(contract.ResourceBindingPermanentIDLabel)))
}

func TestReplicas(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*render.Input)
		want   any
	}{
		"a share is set":         {nil, int64(2)},
		"a share of zero is set": {func(in *render.Input) { in.Target.Replicas = 0 }, int64(0)},
		"an object that is not a workload keeps its replicas": {func(in *render.Input) { in.Binding.BindingSpec().Replicas = 0 }, int64(5)},
		"a binding with requests is a workload": {func(in *render.Input) {
			in.Binding.BindingSpec().Replicas = 0
			in.Binding.BindingSpec().ReplicaRequirements = &workv1alpha2.ReplicaRequirements{}
		}, int64(2)},
		"a template without replicas gets none": {func(in *render.Input) {
			unstructured.RemoveNestedField(in.Template.Object, "spec", "replicas")
		}, nil},
		"a kind without a rule stays as it is": {func(in *render.Input) { in.Template.SetAPIVersion("example.com/v1") }, int64(5)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			work, err := render.Work(input(tt.change))
			g.Expect(err).NotTo(HaveOccurred())
			spec, _, err := unstructured.NestedMap(manifestOf(g, work).Object, "spec")
			g.Expect(err).NotTo(HaveOccurred())
			if tt.want == nil {
				g.Expect(spec).NotTo(HaveKey("replicas"))
				return
			}
			g.Expect(spec["replicas"]).To(Equal(tt.want))
		})
	}
}

func TestCompletionsOfAJob(t *testing.T) {
	t.Parallel()
	divided := &policyv1alpha1.Placement{ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.Divided}}
	job := func(completions any) *unstructured.Unstructured {
		spec := map[string]any{"parallelism": int64(5)}
		if completions != nil {
			spec["completions"] = completions
		}
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "batch/v1", "kind": "Job",
			"metadata": map[string]any{"name": "sum", "namespace": "default"}, "spec": spec,
		}}
	}
	tests := map[string]struct {
		template   *unstructured.Unstructured
		placement  *policyv1alpha1.Placement
		weightless bool
		want       []any
	}{
		"are divided like the replicas":       {job(int64(10)), divided, false, []any{int64(4), int64(6)}},
		"add up":                              {job(int64(7)), divided, false, []any{int64(3), int64(4)}},
		"are not changed when duplicated":     {job(int64(10)), &policyv1alpha1.Placement{}, false, []any{int64(10), int64(10)}},
		"are not changed without a placement": {job(int64(10)), nil, false, []any{int64(10), int64(10)}},
		"are not added":                       {job(nil), divided, false, []any{nil, nil}},
		"are not changed without shares":      {job(int64(10)), divided, true, []any{int64(10), int64(10)}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			for i, cluster := range []string{"edge-1", "edge-2"} {
				work, err := render.Work(input(func(in *render.Input) {
					in.Template = tt.template
					in.Binding = binding(func(b *workv1alpha2.ResourceBinding) {
						b.Spec.Placement = tt.placement
						if tt.weightless {
							b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "edge-1"}, {Name: "edge-2"}}
						}
					})
					in.Target.Name = cluster
				}))
				g.Expect(err).NotTo(HaveOccurred())
				spec, _, err := unstructured.NestedMap(manifestOf(g, work).Object, "spec")
				g.Expect(err).NotTo(HaveOccurred())
				if tt.want[i] == nil {
					g.Expect(spec).NotTo(HaveKey("completions"))
					continue
				}
				g.Expect(spec["completions"]).To(Equal(tt.want[i]))
			}
		})
	}
}

func TestConflictResolution(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		annotation string
		policy     policyv1alpha1.ConflictResolution
		want       string
	}{
		"the default is to abort":                              {"", "", "abort"},
		"the policy says overwrite":                            {"", policyv1alpha1.ConflictOverwrite, "overwrite"},
		"the template wins over the policy":                    {"abort", policyv1alpha1.ConflictOverwrite, "abort"},
		"the template says overwrite":                          {"overwrite", policyv1alpha1.ConflictAbort, "overwrite"},
		"an invalid value leaves it to the policy's Abort":     {"Overwrite", policyv1alpha1.ConflictAbort, "abort"},
		"an invalid value leaves it to the policy's Overwrite": {"yes", policyv1alpha1.ConflictOverwrite, "overwrite"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			work, err := render.Work(input(func(in *render.Input) {
				in.Template.SetAnnotations(map[string]string{contract.ConflictResolutionAnnotation: tt.annotation})
				in.Binding.BindingSpec().ConflictResolution = tt.policy
			}))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(work.Annotations).To(HaveKeyWithValue(contract.ConflictResolutionAnnotation, tt.want))
			g.Expect(manifestOf(g, work).GetAnnotations()).To(HaveKeyWithValue(contract.ConflictResolutionAnnotation, tt.want))
		})
	}
}

func TestSuspensionAndPreservation(t *testing.T) {
	t.Parallel()
	on := func(clusters ...string) *workv1alpha2.Suspension {
		return &workv1alpha2.Suspension{Suspension: policyv1alpha1.Suspension{DispatchingOnClusters: &policyv1alpha1.SuspendClusters{ClusterNames: clusters}}}
	}
	tests := map[string]struct {
		suspension *workv1alpha2.Suspension
		want       bool
	}{
		"no suspension":                {nil, false},
		"only scheduling":              {&workv1alpha2.Suspension{Scheduling: new(true)}, false},
		"everywhere":                   {&workv1alpha2.Suspension{Suspension: policyv1alpha1.Suspension{Dispatching: new(true)}}, true},
		"suspension is false":          {&workv1alpha2.Suspension{Suspension: policyv1alpha1.Suspension{Dispatching: new(false)}}, false},
		"on this cluster":              {on("edge-2", "edge-1"), true},
		"on other clusters":            {on("edge-2"), false},
		"on an empty list of clusters": {on(), false},
	}
	hashes := map[bool]string{}
	for name, tt := range tests {
		g := NewWithT(t)
		work, err := render.Work(input(func(in *render.Input) { in.Binding.BindingSpec().Suspension = tt.suspension }))
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(*work.Spec.SuspendDispatching).To(Equal(tt.want), name)
		hashes[tt.want] = work.Annotations[contract.ManifestHashAnnotation]
	}
	g := NewWithT(t)
	g.Expect(hashes[true]).NotTo(Equal(hashes[false]), "the hash covers suspension")
	work, err := render.Work(input(func(in *render.Input) { in.Binding.BindingSpec().PreserveResourcesOnDeletion = new(true) }))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(*work.Spec.PreserveResourcesOnDeletion).To(BeTrue())
	g.Expect(work.Annotations[contract.ManifestHashAnnotation]).NotTo(Equal(hashes[false]), "the hash covers preservation")
	for _, there := range []bool{true, false} {
		work, err := render.Work(input(func(in *render.Input) {
			in.Binding.BindingSpec().PreservedIn = []string{"elsewhere"}
			if there {
				in.Binding.BindingSpec().PreservedIn = []string{"elsewhere", in.Target.Name}
			}
		}))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(*work.Spec.PreserveResourcesOnDeletion).To(Equal(there))
	}
	work, err = render.Work(input(func(in *render.Input) {
		in.Preserved = func(cluster string) bool { return cluster == in.Target.Name }
	}))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(*work.Spec.PreserveResourcesOnDeletion).To(BeTrue(), "Preserved is used if it is set")
}

func relabel() policyv1alpha1.OverridePolicy {
	return policyv1alpha1.OverridePolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "relabel"},
		Spec: policyv1alpha1.OverrideSpec{OverrideRules: []policyv1alpha1.RuleWithCluster{{Overriders: policyv1alpha1.Overriders{
			Plaintext: []policyv1alpha1.PlaintextOverrider{
				{Path: "/spec/replicas", Operator: policyv1alpha1.OverrideReplace, Value: apiextensionsv1.JSON{Raw: []byte("9")}},
				{Path: "/metadata/labels", Operator: policyv1alpha1.OverrideRemove},
			},
		}}}},
	}
}

func TestOverridesApplyBetweenReplicasAndMarks(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	work, err := render.Work(input(func(in *render.Input) {
		in.Overrides = override.Select(override.Policies{Namespaced: []policyv1alpha1.OverridePolicy{relabel()}}, selector.TargetOf(in.Template))
	}))
	g.Expect(err).NotTo(HaveOccurred())
	manifest := manifestOf(g, work)
	replicas, _, err := unstructured.NestedInt64(manifest.Object, "spec", "replicas")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(replicas).To(Equal(int64(9)))
	g.Expect(manifest.GetLabels()).To(HaveLen(3), "overrides cannot remove the marks")
	g.Expect(work.Annotations[contract.AppliedOverridesAnnotation]).To(HavePrefix(`[{"policyName":"relabel","overriders":{"plaintext":[{"path":"/spec/replicas","operator":"replace","value":9}`))
	g.Expect(work.Annotations).NotTo(HaveKey(contract.AppliedClusterOverridesAnnotation))
	g.Expect(manifest.GetAnnotations()).NotTo(HaveKey(contract.AppliedOverridesAnnotation))
}

// TestInvalidPropagationPolicyIsRejected checks that dependents are not deleted by mistake with an object that was meant to leave
// them.
func TestInvalidPropagationPolicyIsRejected(t *testing.T) {
	t.Parallel()
	for said, wrong := range map[string]bool{"Orphan": false, "background": false, "": false, "Orphann": true} {
		g := NewWithT(t)
		_, err := render.Work(input(func(in *render.Input) {
			in.Template.SetAnnotations(map[string]string{contract.DeletionPropagationAnnotation: said})
		}))
		if !wrong {
			g.Expect(err).NotTo(HaveOccurred(), said)
			continue
		}
		g.Expect(err).To(MatchError(And(ContainSubstring(contract.DeletionPropagationAnnotation), ContainSubstring(`"Orphann"`),
			ContainSubstring("must be Background, Foreground or Orphan; correct it"))))
	}
}

func TestPreservedStateBecomesLabels(t *testing.T) {
	t.Parallel()
	task := func(mode policyv1alpha1.PurgeMode, before ...string) workv1alpha2.GracefulEvictionTask {
		return workv1alpha2.GracefulEvictionTask{FromCluster: "edge-9", PurgeMode: mode, ClustersBeforeFailover: before, PreservedLabelState: map[string]string{"state": "s1"}}
	}
	one := []workv1alpha2.TargetCluster{{Name: "edge-1", Replicas: 5}}
	tests := map[string]struct {
		tasks    []workv1alpha2.GracefulEvictionTask
		clusters []workv1alpha2.TargetCluster
		want     bool
	}{
		"the copy that replaces it":             {[]workv1alpha2.GracefulEvictionTask{task(policyv1alpha1.PurgeDirectly, "edge-9")}, one, true},
		"a copy with the deprecated purge mode": {[]workv1alpha2.GracefulEvictionTask{task(policyv1alpha1.PurgeImmediately, "edge-9")}, one, true},
		"a copy that existed before":            {[]workv1alpha2.GracefulEvictionTask{task(policyv1alpha1.PurgeDirectly, "edge-9", "edge-1")}, one, false},
		"a graceful eviction":                   {[]workv1alpha2.GracefulEvictionTask{task(policyv1alpha1.PurgeGracefully, "edge-9")}, one, false},
		"only the last task counts":             {[]workv1alpha2.GracefulEvictionTask{task(policyv1alpha1.PurgeDirectly), task(policyv1alpha1.PurgeGracefully)}, one, false},
		"more than one cluster has copies":      {[]workv1alpha2.GracefulEvictionTask{task(policyv1alpha1.PurgeDirectly)}, append(one, workv1alpha2.TargetCluster{Name: "edge-2"}), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			work, err := render.Work(input(func(in *render.Input) {
				in.Binding.BindingSpec().Clusters = tt.clusters
				in.Binding.BindingSpec().GracefulEvictionTasks = tt.tasks
			}))
			g.Expect(err).NotTo(HaveOccurred())
			_, got := manifestOf(g, work).GetLabels()["state"]
			g.Expect(got).To(Equal(tt.want))
		})
	}
}
