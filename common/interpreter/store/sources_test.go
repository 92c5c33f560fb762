package store_test

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/lua"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/common/interpreter/store"
)

func TestWhoseRulesAnswerIsKnown(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	compiler, err := lua.NewCompiler(lua.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	kinds := store.New(store.Options{Compiler: compiler, NoWebhooks: true, BuiltIn: []interpreter.Interpreter{native.New()}})
	deployment := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	of := func(name, kind string, rules configv1alpha1.CustomizationRules) configv1alpha1.ResourceInterpreterCustomization {
		return configv1alpha1.ResourceInterpreterCustomization{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: configv1alpha1.ResourceInterpreterCustomizationSpec{
				Target: configv1alpha1.CustomizationTarget{APIVersion: "apps/v1", Kind: kind}, Customizations: rules,
			},
		}
	}
	needs := configv1alpha1.CustomizationRules{DependencyInterpretation: &configv1alpha1.LuaRule{LuaScript: "function GetDependencies(obj) return {} end"}}
	healthy := configv1alpha1.CustomizationRules{HealthInterpretation: &configv1alpha1.LuaRule{LuaScript: "function InterpretHealth(obj) return true end"}}
	all, answering := kinds.Sources(deployment, interpreter.InterpretDependency)
	g.Expect(all).To(BeEmpty())
	g.Expect(answering).To(BeEmpty(), "it is built in")

	there := listed{of("one", "Deployment", needs), of("two", "Deployment", healthy), of("three", "Deployment", needs), of("other", "StatefulSet", needs)}
	now, err := kinds.VersionNow(t.Context(), there, deployment)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(now).NotTo(Equal(kinds.Version(deployment)), "the API has what the store has not read yet")
	g.Expect(kinds.Load(t.Context(), there)).To(Succeed())
	g.Expect(kinds.Version(deployment)).To(Equal(now))
	all, answering = kinds.Sources(deployment, interpreter.InterpretDependency)
	name := func(name string) string { return "ResourceInterpreterCustomization/" + name }
	g.Expect(all).To(ConsistOf(name("one"), name("two"), name("three")))
	g.Expect(answering).To(ConsistOf(name("one"), name("three")), "those add up")
	about, exists := kinds.RulesOf(name("other"))
	g.Expect(exists).To(BeTrue())
	g.Expect(about).To(Equal([]string{"StatefulSet of apps/v1"}))
	_, exists = kinds.RulesOf(name("none"))
	g.Expect(exists).To(BeFalse())
}
