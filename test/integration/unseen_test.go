package integration

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/builder"
)

// TestAnEditThatCameWithItsStrategyWhileThereWasNoHub edits templates and overrides and adds a rollout strategy at the
// same time, while no hub runs. The next hub renders the current state, and sends it only to the first wave; without a
// strategy it goes everywhere as before, whatever the policy is like.
func TestAnEditThatCameWithItsStrategyWhileThereWasNoHub(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := exclusive(t)
	ns, free := s.namespace(t), s.namespace(t)
	c := s.hub.Client(t)
	patch := func(obj client.Object, text string) {
		t.Helper()
		g.Expect(c.Patch(t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(text)))).To(Succeed())
	}
	strategy := s.staged(t, "shop-1", func(spec *fairleadv1alpha1.RolloutStrategySpec) {
		spec.Waves[1].Approval = fairleadv1alpha1.ApprovalBefore
	})
	forced := s.staged(t, "shop-1", func(spec *fairleadv1alpha1.RolloutStrategySpec) {
		spec.Waves[1].Approval = fairleadv1alpha1.ApprovalBefore
		spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"strict": ns}}
	})
	policy := func(namespace, name string) *policyv1alpha1.PropagationPolicy {
		return builder.MakePolicy(namespace, name).Select("v1", "ConfigMap", name).Clusters("shop-1", "shop-2").Obj()
	}
	templates := map[string]*unstructured.Unstructured{}
	template := func(namespace, name string) {
		templates[name] = builder.MakeConfigMap(namespace, name, "colour", "blue").Obj()
		s.create(t, templates[name])
	}
	staged, everywhere := []string{"named", "forced", "released"}, []string{"plain", "lazy", "left"}
	template(free, "named")
	template(ns, "forced")
	template(ns, "released")
	for _, name := range everywhere {
		template(free, name)
	}
	for name, of := range templates {
		s.create(t, policy(of.GetNamespace(), name))
	}
	colour := func(g Gomega, member, name string) string {
		data, _, _ := unstructured.NestedStringMap(s.inMember(t, g, member, templates[name]).Object, "data")
		return fmt.Sprint(data["colour"], data["extra"])
	}
	eventually(t, func(g Gomega) {
		for name := range templates {
			g.Expect(colour(g, "shop-1", name)).To(Equal("blue"), name)
			g.Expect(colour(g, "shop-2", name)).To(Equal("blue"), name)
		}
	})
	patch(policy(free, "lazy"), `{"spec":{"activationPreference":"Lazy"}}`)
	for _, name := range []string{"released", "left"} {
		g.Expect(c.Delete(t.Context(), policy(templates[name].GetNamespace(), name))).To(Succeed())
		eventually(t, func(g Gomega) {
			g.Expect(s.binding(t, g, templates[name]).Labels).NotTo(HaveKey(contract.PropagationPolicyPermanentIDLabel))
		})
	}
	eventually(t, func(g Gomega) {
		g.Expect(s.onHub(t, g, templates["lazy"]).GetAnnotations()).To(HaveKey(contract.TemplateEditAnnotation))
	})

	s.stop(t, hubName)
	for _, namespace := range []string{ns, free} { // without these the Works already have the rendered content
		s.create(t, builder.MakeOverride(namespace, "extra").Select("v1", "ConfigMap", "").Add("shop-1", "/data/extra", "+").Add("shop-2", "/data/extra", "+").Obj())
	}
	patch(policy(free, "named"), `{"metadata":{"annotations":{"`+contract.RolloutStrategyAnnotation+`":"`+strategy+`"}}}`)
	patch(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, `{"metadata":{"labels":{"strict":"`+ns+`"}}}`)
	for _, of := range templates {
		patch(of.DeepCopy(), `{"data":{"colour":"green"}}`)
	}
	s.startHub(context.WithoutCancel(t.Context()), t)

	eventually(t, func(g Gomega) {
		for _, name := range everywhere {
			g.Expect(colour(g, "shop-1", name)).To(Equal("green+"), name)
			g.Expect(colour(g, "shop-2", name)).To(Equal("green+"), name)
		}
		for _, name := range staged {
			g.Expect(colour(g, "shop-1", name)).To(Equal("green+"), name)
			g.Expect(s.rolled(t, g, templates[name]).Phase).To(Equal(fairleadv1alpha1.RolloutWaiting), name)
		}
	})
	by := map[string]string{"named": strategy, "forced": forced, "released": forced}
	for _, name := range staged {
		g.Expect(colour(g, "shop-2", name)).To(Equal("blue"), name)
		g.Expect(s.binding(t, g, templates[name]).Annotations).To(HaveKeyWithValue(contract.RolloutStrategyAnnotation, by[name]))
	}

	// Without the label there is no strategy, and all clusters get the edit.
	patch(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, `{"metadata":{"labels":{"strict":null}}}`)
	eventually(t, func(g Gomega) {
		g.Expect(colour(g, "shop-2", "forced")).To(Equal("green+"))
		g.Expect(colour(g, "shop-2", "released")).To(Equal("green+"))
	})
	g.Expect(colour(g, "shop-2", "named")).To(Equal("blue"))
}
