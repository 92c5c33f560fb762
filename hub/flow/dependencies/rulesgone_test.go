package dependencies_test

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/lua"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/common/interpreter/store"
	"fairlead.dev/hub/flow/dependencies"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

// startRuled starts the stage with the rules of the customizations on the hub.
func startRuled(t *testing.T) *world {
	t.Helper()
	g := NewWithT(t)
	compiler, err := lua.NewCompiler(lua.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	kinds := store.New(store.Options{Compiler: compiler, BuiltIn: []interpreter.Interpreter{native.New()}, NoWebhooks: true})
	live := cluster.Shared(t, cluster.Options{Profile: cluster.Hub}).Client(t)
	g.Expect(kinds.Load(t.Context(), live)).To(Succeed())
	return startWith(t, func(mgr manager.Manager) manager.Manager {
		g.Expect(mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return kinds.Follow(ctx, mgr.GetCache()) }))).To(Succeed())
		return mgr
	}, func(deps *dependencies.Deps) {
		deps.Interpreter = kinds
		deps.RulesNow = func(ctx context.Context, kind schema.GroupVersionKind) (string, error) {
			return kinds.VersionNow(ctx, live, kind)
		}
	})
}

// customization returns a customization by which a kind needs ConfigMaps with the given names.
func (w *world) customization(name, apiVersion, kind string, needs ...string) *configv1alpha1.ResourceInterpreterCustomization {
	script := "function GetDependencies(obj)\n  local refs = {}\n"
	for i, configMap := range needs {
		script += fmt.Sprintf("  refs[%d] = {apiVersion = 'v1', kind = 'ConfigMap', namespace = '%s', name = '%s'}\n", i+1, w.namespace, configMap)
	}
	return &configv1alpha1.ResourceInterpreterCustomization{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace + "-" + name},
		Spec: configv1alpha1.ResourceInterpreterCustomizationSpec{
			Target: configv1alpha1.CustomizationTarget{APIVersion: apiVersion, Kind: kind},
			Customizations: configv1alpha1.CustomizationRules{
				DependencyInterpretation: &configv1alpha1.LuaRule{LuaScript: script + "  return refs\nend"},
			},
		},
	}
}

// service creates a template of a kind without rules, and its binding.
func (w *world) service(t *testing.T, name string) *workv1alpha2.ResourceBinding {
	t.Helper()
	template := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
	w.create(t, template)
	b := w.bound("v1", "Service", template)
	w.create(t, b)
	return b
}

// bound returns the binding of a template with dependencies.
func (w *world) bound(apiVersion, kind string, template client.Object) *workv1alpha2.ResourceBinding {
	name := template.GetName()
	return &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: contract.BindingName(kind, name),
			Labels: map[string]string{contract.ResourceBindingPermanentIDLabel: "id-of-" + name},
		},
		Spec: workv1alpha2.ResourceBindingSpec{
			Resource: workv1alpha2.ObjectReference{
				APIVersion: apiVersion, Kind: kind, Namespace: w.namespace, Name: name, UID: template.GetUID(), ResourceVersion: template.GetResourceVersion(),
			},
			PropagateDeps: true, Clusters: []workv1alpha2.TargetCluster{{Name: "edge-1"}},
		},
	}
}

// TestDependenciesStayWhenRulesAreGone deletes customizations that name dependencies. For one kind there are no rules any more, and for
// another only the built-in ones, which name fewer.
func TestDependenciesStayWhenRulesAreGone(t *testing.T) {
	w := startRuled(t)
	g := NewWithT(t)
	only, more := w.customization("only", "v1", "Service", "orders"), w.customization("more", "apps/v1", "Deployment", "settings", "extra")
	w.create(t, only, more, w.configMap("orders"), w.configMap("settings"), w.configMap("extra"))
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		_, _ = w.hub.Delete(ctx, w.customization("only", "v1", "Service")), w.hub.Delete(ctx, w.customization("more", "apps/v1", "Deployment"))
	})
	shop := w.service(t, "shop")
	_, web := w.deployment(t, "web", "settings")
	follows := func(name, workload string) {
		t.Helper()
		g.Eventually(w.attached(t, w.namespace, name+"-configmap"), stagetest.Timeout, stagetest.Poll).Should(HaveKey(workload), name)
	}
	follows("orders", "shop-service")
	follows("settings", "web-deployment")
	follows("extra", "web-deployment")
	orders, extra := w.attachedBinding(t, "orders-configmap"), w.attachedBinding(t, "extra-configmap")

	g.Expect(w.hub.Delete(t.Context(), only)).To(Succeed())
	g.Expect(w.hub.Delete(t.Context(), more)).To(Succeed())
	told := func() []string { return w.notes("DependencyRulesGone") }
	g.Eventually(told, stagetest.Timeout, stagetest.Poll).Should(ConsistOf(
		And(ContainSubstring("ConfigMap "+w.namespace+"/orders"), ContainSubstring("ResourceInterpreterCustomization/"+only.Name)),
		And(ContainSubstring("ConfigMap "+w.namespace+"/extra"), ContainSubstring("ResourceInterpreterCustomization/"+more.Name)),
	))
	// Reading the template once more changes nothing.
	change(t, w, shop, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "edge-2"}}
	})
	g.Eventually(w.attached(t, w.namespace, "orders-configmap"), stagetest.Timeout, stagetest.Poll).
		Should(Equal(map[string][]string{"shop-service": {"edge-2"}}), "the orphan moves with the workload")
	for _, before := range []*workv1alpha2.ResourceBinding{orders, extra} {
		now := w.attachedBinding(t, before.Name)
		g.Expect(now.UID).To(Equal(before.UID))
		g.Expect(now.DeletionTimestamp).To(BeNil())
	}
	g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(web), web)).To(Succeed())
	g.Expect(web.Annotations[contract.DependenciesAnnotation]).To(And(ContainSubstring(`"settings"`), ContainSubstring(`"extra"`)))

	// One dependency is detached on purpose, and the rules of the other kind come back with a different result.
	gone := w.attachedBinding(t, "extra-configmap")
	g.Expect(w.hub.Delete(t.Context(), gone)).To(Succeed())
	g.Expect(client.IgnoreNotFound(w.hub.Patch(t.Context(), gone, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))).To(Succeed())
	g.Eventually(func() map[string]string {
		g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(web), web)).To(Succeed())
		return web.Annotations
	}, stagetest.Timeout, stagetest.Poll).ShouldNot(HaveKey(contract.DependenciesByAnnotation), "no missing rules are recorded any more")
	g.Expect(w.attached(t, w.namespace, "extra-configmap")()).To(BeNil())
	follows("settings", "web-deployment")
	w.create(t, w.customization("only", "v1", "Service", "settings"))
	g.Eventually(w.attached(t, w.namespace, "orders-configmap"), stagetest.Timeout, stagetest.Poll).Should(BeNil())
	follows("settings", "shop-service")

	// Removing a rule from a customization is on purpose.
	only = w.customization("only", "v1", "Service")
	change(t, w, only, func(c *configv1alpha1.ResourceInterpreterCustomization) {
		c.Spec.Customizations = configv1alpha1.CustomizationRules{
			HealthInterpretation: &configv1alpha1.LuaRule{LuaScript: "function InterpretHealth(obj) return true end"},
		}
	})
	g.Eventually(w.attached(t, w.namespace, "settings-configmap"), stagetest.Timeout, stagetest.Poll).Should(Equal(map[string][]string{"web-deployment": {"edge-1"}}))
}

// TestDependenciesStayWhenRulesAreForAnotherVersion changes the policy of a workload to a version for which the customization has no rules.
func TestDependenciesStayWhenRulesAreForAnotherVersion(t *testing.T) {
	w := startRuled(t)
	g := NewWithT(t)
	v1 := w.customization("v1", "autoscaling/v1", "HorizontalPodAutoscaler", "limits")
	w.create(t, v1, w.configMap("limits"))
	t.Cleanup(func() { _ = w.hub.Delete(context.WithoutCancel(t.Context()), v1) })
	scaler := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": map[string]any{"namespace": w.namespace, "name": "web"},
		"spec": map[string]any{"maxReplicas": 3, "scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
	}}
	w.create(t, scaler)
	b := w.bound("autoscaling/v1", "HorizontalPodAutoscaler", scaler)
	w.create(t, b)
	follows := w.attached(t, w.namespace, "limits-configmap")
	g.Eventually(follows, stagetest.Timeout, stagetest.Poll).Should(HaveKey(b.Name))

	change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.Resource.APIVersion = "autoscaling/v2" })
	told := func() []string { return w.notes("DependencyRulesGone") }
	g.Eventually(told, stagetest.Timeout, stagetest.Poll).Should(ConsistOf(And(
		ContainSubstring("ConfigMap "+w.namespace+"/limits"),
		ContainSubstring("since the object is sent as HorizontalPodAutoscaler of autoscaling/v2, and ResourceInterpreterCustomization/"+v1.Name+
			", which said so, has rules only for HorizontalPodAutoscaler of autoscaling/v1"),
		ContainSubstring("Make rules for HorizontalPodAutoscaler of autoscaling/v2 as well"),
		Not(ContainSubstring("is gone")),
	)))
	g.Expect(follows()).To(HaveKey(b.Name))

	// The advice of the event is followed.
	w.create(t, w.customization("v2", "autoscaling/v2", "HorizontalPodAutoscaler", "limits"))
	t.Cleanup(func() {
		_ = w.hub.Delete(context.WithoutCancel(t.Context()), w.customization("v2", "autoscaling/v2", "HorizontalPodAutoscaler"))
	})
	g.Eventually(func() string {
		g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
		return b.Annotations[contract.DependenciesByAnnotation]
	}, stagetest.Timeout, stagetest.Poll).Should(Equal("ResourceInterpreterCustomization/" + w.namespace + "-v2"))
	g.Expect(follows()).To(HaveKey(b.Name))
}
