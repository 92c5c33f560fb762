package revision_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/override"
	"fairlead.dev/common/revision"
)

type object = map[string]any

func deployment(edit func(*unstructured.Unstructured)) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: object{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": object{
			"name": "web", "namespace": "shop", "uid": "u", "generation": int64(7), "resourceVersion": "12",
			"labels": object{"app": "web"},
		},
		"spec":   object{"replicas": int64(3), "template": object{"spec": object{"containers": []any{object{"name": "web", "image": "web:1"}}}}},
		"status": object{"readyReplicas": int64(3)},
	}}
	if edit != nil {
		edit(obj)
	}
	return obj
}

func configMap(value string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: object{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "settings", "namespace": "shop"}, "data": object{"key": value},
	}}
}

func set(value any, path ...string) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(obj.Object, value, path...); err != nil {
			panic(err)
		}
	}
}

func reviseReplicas(obj *unstructured.Unstructured, replicas int32) (*unstructured.Unstructured, error) {
	out := obj.DeepCopy()
	return out, unstructured.SetNestedField(out.Object, int64(replicas), "spec", "replicas")
}

func rule(policy, cluster, label string) override.Rule {
	return override.Rule{
		Policy: policy, Namespace: "shop",
		TargetCluster: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{cluster}},
		Overriders: policyv1alpha1.Overriders{LabelsOverrider: []policyv1alpha1.LabelAnnotationOverrider{
			{Operator: policyv1alpha1.OverrideAdd, Value: map[string]string{"tier": label}},
		}},
	}
}

func content(t *testing.T, main revision.Source, dependents ...revision.Source) revision.Content {
	t.Helper()
	out, err := revision.Make(main, dependents...)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return out
}

func hash(t *testing.T, c revision.Content) string {
	t.Helper()
	out, err := c.Hash()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return out
}

func TestAnEditMakesARevisionAndScalingMakesNone(t *testing.T) {
	t.Parallel()
	scaled := func(edit func(*unstructured.Unstructured), rules ...override.Rule) revision.Source {
		return revision.Source{Template: deployment(edit), Rules: rules, Revise: reviseReplicas}
	}
	config := func(value string, rules ...override.Rule) revision.Source {
		return revision.Source{Template: configMap(value), Rules: rules}
	}
	plain := content(t, scaled(nil, rule("p", "a", "x")), config("1"))
	for name, c := range map[string]struct {
		content revision.Content
		another bool
	}{
		"nothing is different": {content(t, scaled(nil, rule("p", "a", "x")), config("1")), false},
		"the status is no content": {
			content(t, scaled(set(int64(1), "status", "readyReplicas"), rule("p", "a", "x")), config("1")), false,
		},
		"scaling is no edit": {content(t, scaled(set(int64(9), "spec", "replicas"), rule("p", "a", "x")), config("1")), false},
		"what kubectl apply notes has the replicas in it": {
			content(t, scaled(set(`{"spec":{"replicas":9}}`, "metadata", "annotations", corev1.LastAppliedConfigAnnotation), rule("p", "a", "x")), config("1")), false,
		},
		"an autoscaler in members is scaling": {
			content(t, scaled(set("true", "metadata", "labels", contract.RetainReplicasLabel), rule("p", "a", "x")), config("1")), false,
		},
		"another strategy is no edit": {
			content(t, scaled(set("careful", "metadata", "annotations", contract.RolloutStrategyAnnotation), rule("p", "a", "x")), config("1")), false,
		},
		"generation and resourceVersion are no content": {
			content(t, scaled(set(int64(8), "metadata", "generation"), rule("p", "a", "x")), config("1")), false,
		},
		"the name of a policy is no content": {content(t, scaled(nil, rule("q", "a", "x")), config("1")), false},
		"an edit of the template": {
			content(t, scaled(set("web2", "metadata", "labels", "app"), rule("p", "a", "x")), config("1")), true,
		},
		"an edit of an override":         {content(t, scaled(nil, rule("p", "a", "y")), config("1")), true},
		"an override for other clusters": {content(t, scaled(nil, rule("p", "b", "x")), config("1")), true},
		"no override any more":           {content(t, scaled(nil), config("1")), true},
		"an edit of a dependent":         {content(t, scaled(nil, rule("p", "a", "x")), config("2")), true},
		"an override of a dependent":     {content(t, scaled(nil, rule("p", "a", "x")), config("1", rule("p", "a", "x"))), true},
		"one dependent less":             {content(t, scaled(nil, rule("p", "a", "x"))), true},
		"replicas that the hub does not set": {
			content(t, revision.Source{Template: deployment(nil), Rules: []override.Rule{rule("p", "a", "x")}}, config("1")), true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(hash(t, c.content) != hash(t, plain)).To(Equal(c.another))
			same, err := plain.Same(c.content, func(ref revision.Ref) revision.Revise {
				if ref.Kind == "Deployment" && c.content.Main.Scaled {
					return reviseReplicas
				}
				return nil
			})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(same).To(Equal(!c.another))
		})
	}
}

func TestTheOrderOfRulesCounts(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	one, two := rule("p", "a", "x"), rule("p", "a", "y")
	g.Expect(hash(t, content(t, revision.Source{Template: deployment(nil), Rules: []override.Rule{one, two}}))).
		NotTo(Equal(hash(t, content(t, revision.Source{Template: deployment(nil), Rules: []override.Rule{two, one}}))))
}

func TestTheOrderOfDependentsDoesNot(t *testing.T) {
	t.Parallel()
	other := configMap("1")
	other.SetName("another")
	main, first, second := revision.Source{Template: deployment(nil)}, revision.Source{Template: configMap("1")}, revision.Source{Template: other}
	NewWithT(t).Expect(hash(t, content(t, main, first, second))).To(Equal(hash(t, content(t, main, second, first))))
}

func TestAContentIsComparedByTheRulesOfNow(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	// When the revision was kept, the kind had no rule for replicas.
	kept := content(t, revision.Source{Template: deployment(nil)})
	now := content(t, revision.Source{Template: deployment(set(int64(9), "spec", "replicas")), Revise: reviseReplicas})
	g.Expect(hash(t, kept)).NotTo(Equal(hash(t, now)))
	same, err := kept.Same(now, func(revision.Ref) revision.Revise { return reviseReplicas })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(same).To(BeTrue())
	same, err = now.Same(kept, func(revision.Ref) revision.Revise { return nil })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(same).To(BeFalse(), "replicas that were left out are not known")
}

// TestAContentStaysTheSameIfMoreIsLeftOutNow checks that a hub that prunes more than its predecessor makes no new
// revision because of it.
func TestAContentStaysTheSameIfMoreIsLeftOutNow(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	kept, now := content(t, revision.Source{Template: deployment(nil)}), content(t, revision.Source{Template: deployment(nil)})
	set("1", "metadata", "selfLink")(kept.Main.Object)
	same, err := kept.Same(now, func(revision.Ref) revision.Revise { return nil })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(same).To(BeTrue())
	g.Expect(kept.Main.Object.GetSelfLink()).To(Equal("1"), "what is kept is shared, and is not changed")
}

func TestATemplateIsMadeOfAPart(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	template := deployment(set("applied", "metadata", "annotations", corev1.LastAppliedConfigAnnotation))
	before := template.DeepCopy()
	part, err := revision.MakePart(revision.Source{Template: template, Revise: reviseReplicas})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(template).To(Equal(before), "the source is not changed")
	again := part.Template()
	g.Expect(again.GetUID()).To(Equal(template.GetUID()))
	g.Expect(again.GetGeneration()).To(Equal(template.GetGeneration()))
	g.Expect(again.GetAnnotations()).To(Equal(template.GetAnnotations()))
	g.Expect(again.Object).NotTo(HaveKey("status"))
	again.SetLabels(nil)
	g.Expect(part.Object.GetLabels()).To(HaveKey("app"), "the part is not shared with what is made of it")
}

func TestAnOverrideForOneClusterChangesNothingInOthers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	a, b := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "b"}}
	from := content(t, revision.Source{Template: deployment(nil)}, revision.Source{Template: configMap("1")})
	to := content(t, revision.Source{Template: deployment(nil), Rules: []override.Rule{rule("p", "a", "x")}}, revision.Source{Template: configMap("1")})
	g.Expect(revision.Changed(from, to, a)).To(BeTrue())
	g.Expect(revision.Changed(from, to, b)).To(BeFalse())
	g.Expect(revision.Changed(from, content(t, revision.Source{Template: deployment(nil)}, revision.Source{Template: configMap("2")}), b)).To(BeTrue())
	g.Expect(revision.Changed(from, content(t, revision.Source{Template: deployment(nil)}), b)).To(BeTrue(), "a dependent that is not needed any more")
}

func TestARevisionIsKept(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	kept := &revision.Kept{
		Content: content(t, revision.Source{Template: deployment(nil), Rules: []override.Rule{rule("p", "a", "x")}, Revise: reviseReplicas},
			revision.Source{Template: configMap("1")}),
		Strategy: "careful", Waves: []revision.Wave{{Name: "canary", Clusters: []string{"b", "a"}}},
	}
	id := revision.ID{Number: 3, Hash: hash(t, kept.Content)}
	data, err := revision.Encode(kept)
	g.Expect(err).NotTo(HaveOccurred())
	kept.Size = len(data)
	again, err := revision.Decode(data, id)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again).To(BeComparableTo(kept))
	g.Expect(revision.Encode(again)).To(Equal(data))

	kept.Main.Object.SetLabels(map[string]string{"app": "evil"})
	other, err := revision.Encode(kept)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = revision.Decode(other, id)
	g.Expect(err).To(MatchError(revision.ErrMismatch))
	for _, bad := range [][]byte{nil, []byte("x"), data[:len(data)/2]} {
		_, err = revision.Decode(bad, id)
		g.Expect(err).To(HaveOccurred())
	}
}

func TestARevisionThatNoSecretHoldsIsRefused(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	large := configMap("1")
	random := make(map[string]any, 1<<16)
	for i := range 1 << 16 {
		sum := revision.ID{Number: int64(i)*2654435761%(1<<31) + 1, Hash: fmt.Sprintf("%x", i*i*7919)}
		random[sum.String()] = fmt.Sprintf("%x", i*104729*(i%9973+1))
	}
	large.Object["data"] = random
	_, err := revision.Encode(&revision.Kept{Content: content(t, revision.Source{Template: large})})
	g.Expect(err).To(MatchError(revision.ErrTooLarge))
}

func TestNamesOfSecrets(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(revision.SecretName(&metav1.ObjectMeta{Namespace: "shop", Name: "web-deployment"}, 5)).To(Equal("rollout-web-deployment-r5"))
	g.Expect(revision.SecretNamespace(&metav1.ObjectMeta{Name: "x"})).To(Equal(contract.ClusterNamespace))
	long := &metav1.ObjectMeta{Name: string(make([]byte, 253))}
	g.Expect(revision.SecretName(long, 1<<40)).To(HaveLen(253))
}
