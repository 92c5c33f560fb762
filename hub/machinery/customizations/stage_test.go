package customizations_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/interpreter/lua"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/machinery/customizations"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

func TestMain(m *testing.M) { cluster.Main(m) }

type world struct {
	hub      client.Client
	compiler *lua.Compiler
	events   chan eventsink.Event
}

func start(t *testing.T) *world {
	t.Helper()
	g := NewWithT(t)
	c := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	w := &world{hub: c.Client(t), events: make(chan eventsink.Event, 100)}
	mgr := stagetest.Manager(t, c.Config)
	failures := customizations.NewFailures()
	var err error
	w.compiler, err = lua.NewCompiler(lua.Options{Failed: failures.Record})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(customizations.Register(mgr, customizations.Deps{
		Compiler: w.compiler, Failures: failures, Events: func(e eventsink.Event) { w.events <- e },
	})).To(Succeed())
	stagetest.Run(t, mgr)
	return w
}

// customization returns a customization for a kind that only this test uses.
func customization(kind, name, health string) *configv1alpha1.ResourceInterpreterCustomization {
	return &configv1alpha1.ResourceInterpreterCustomization{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: configv1alpha1.ResourceInterpreterCustomizationSpec{
			Target:         configv1alpha1.CustomizationTarget{APIVersion: "farm.example.com/v1", Kind: kind},
			Customizations: configv1alpha1.CustomizationRules{HealthInterpretation: &configv1alpha1.LuaRule{LuaScript: health}},
		},
	}
}

const healthy = "function InterpretHealth(o) return o.status.ready end"

// becomes waits for a condition of a generation.
func (w *world) becomes(t *testing.T, obj *configv1alpha1.ResourceInterpreterCustomization, kind string, status metav1.ConditionStatus, reason, message string) {
	t.Helper()
	NewWithT(t).Eventually(func(g Gomega) {
		g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		c := meta.FindStatusCondition(obj.Status.Conditions, kind)
		g.Expect(c).NotTo(BeNil())
		g.Expect(c.ObservedGeneration).To(Equal(obj.Generation))
		g.Expect(c.Status).To(Equal(status), c.Message)
		g.Expect(c.Reason).To(Equal(reason))
		g.Expect(c.Message).To(ContainSubstring(message))
	}).WithTimeout(stagetest.Timeout).Should(Succeed())
}

func TestAScriptThatDoesNotCompileSaysWhereAndIsMended(t *testing.T) {
	// Not in parallel: every stage sees the customizations of all tests.
	g := NewWithT(t)
	w := start(t)
	obj := customization("Barn", "barns", "\nfunction InterpretHealth(o)\n  retrun true\nend")
	g.Expect(w.hub.Create(t.Context(), obj)).To(Succeed())
	w.becomes(t, obj, configv1alpha1.CustomizationCompiled, metav1.ConditionFalse, configv1alpha1.CompiledFailed,
		"healthInterpretation (function InterpretHealth), line 3: parse error")
	var e eventsink.Event
	g.Eventually(w.events).WithTimeout(stagetest.Timeout).Should(Receive(&e))
	g.Expect(e.Reason).To(Equal(configv1alpha1.CompiledFailed))
	g.Expect(e.Note).To(ContainSubstring("line 3"))

	obj.Spec.Customizations.HealthInterpretation.LuaScript = healthy
	g.Expect(w.hub.Update(t.Context(), obj)).To(Succeed())
	w.becomes(t, obj, configv1alpha1.CustomizationCompiled, metav1.ConditionTrue, configv1alpha1.CompiledSucceeded, "Every script")
}

func TestACustomizationIsToldThatAnotherAnswers(t *testing.T) {
	// Not in parallel: every stage sees the customizations of all tests.
	g := NewWithT(t)
	w := start(t)
	second := customization("Mill", "mills-b", healthy)
	g.Expect(w.hub.Create(t.Context(), second)).To(Succeed())
	w.becomes(t, second, configv1alpha1.CustomizationCompiled, metav1.ConditionTrue, configv1alpha1.CompiledSucceeded, "")

	first := customization("Mill", "mills-a", healthy)
	g.Expect(w.hub.Create(t.Context(), first)).To(Succeed())
	w.becomes(t, second, configv1alpha1.CustomizationCompiled, metav1.ConditionFalse, configv1alpha1.CompiledShadowed, "healthInterpretation (mills-a answers)")

	g.Expect(w.hub.Delete(t.Context(), first)).To(Succeed())
	w.becomes(t, second, configv1alpha1.CustomizationCompiled, metav1.ConditionTrue, configv1alpha1.CompiledSucceeded, "")
}

func TestAScriptThatFailsIsToldUntilItChanges(t *testing.T) {
	// Not in parallel: every stage sees the customizations of all tests.
	g := NewWithT(t)
	w := start(t)
	obj := customization("Silo", "silos", healthy)
	g.Expect(w.hub.Create(t.Context(), obj)).To(Succeed())
	silo := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "farm.example.com/v1", "kind": "Silo", "metadata": map[string]any{"name": "north", "namespace": "farm"},
	}}
	for range 3 { // it is reported once
		rules := w.compiler.Compile([]configv1alpha1.ResourceInterpreterCustomization{*obj})
		_, err := rules.Health(t.Context(), silo)
		g.Expect(err).To(HaveOccurred())
	}
	w.becomes(t, obj, configv1alpha1.CustomizationFailing, metav1.ConditionTrue, configv1alpha1.FailingScript, `Silo "farm/north": line 1: attempt to index`)
	g.Eventually(w.events).WithTimeout(stagetest.Timeout).Should(Receive(HaveField("Reason", configv1alpha1.FailingScript)))
	g.Expect(w.events).NotTo(Receive())

	obj.Spec.Customizations.HealthInterpretation.LuaScript = "function InterpretHealth(o) return o.status ~= nil end"
	g.Expect(w.hub.Update(t.Context(), obj)).To(Succeed())
	g.Eventually(func(g Gomega) {
		g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		g.Expect(meta.FindStatusCondition(obj.Status.Conditions, configv1alpha1.CustomizationFailing)).To(BeNil())
	}).WithTimeout(stagetest.Timeout).Should(Succeed())
}
