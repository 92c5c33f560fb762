package revision_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/override"
	"fairlead.dev/common/revision"
)

// ofCluster makes a rule one of a ClusterOverridePolicy.
func ofCluster(r override.Rule) override.Rule {
	r.Namespace = ""
	return r
}

// keptWithRules returns a revision with rules of both kinds of policies; those of cluster policies contain secrets.
func keptWithRules(t *testing.T) *revision.Kept {
	t.Helper()
	return &revision.Kept{Strategy: "careful", Content: content(t,
		revision.Source{
			Template: deployment(nil), Revise: reviseReplicas,
			Rules: []override.Rule{ofCluster(rule("proxy", "a", "hunter2")), ofCluster(rule("proxy", "b", "swordfish")), rule("mine", "a", "plain")},
		},
		revision.Source{Template: configMap("1"), Rules: []override.Rule{rule("mine", "b", "plain")}},
	)}
}

func plain(g Gomega, data []byte) string {
	zip, err := gzip.NewReader(bytes.NewReader(data))
	g.Expect(err).NotTo(HaveOccurred())
	out, err := io.ReadAll(zip)
	g.Expect(err).NotTo(HaveOccurred())
	return string(out)
}

func TestRulesOfClusterPoliciesAreKeptElsewhere(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	rollout := &metav1.ObjectMeta{Namespace: "shop", Name: "web-deployment", UID: "u-1"}
	kept, untouched := keptWithRules(t), keptWithRules(t)
	id := revision.ID{Number: 3, Hash: hash(t, kept.Content)}
	secrets, err := revision.SecretsOf(rollout, 3, kept)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kept).To(BeComparableTo(untouched), "what is kept is shared")
	g.Expect(secrets).To(HaveLen(2))
	rules, rest := secrets[0], secrets[1]

	g.Expect(rest.Namespace + "/" + rest.Name).To(Equal("shop/rollout-web-deployment-r3"))
	g.Expect(plain(g, rest.Data[revision.SecretKey])).To(And(ContainSubstring("plain"),
		Not(ContainSubstring("hunter2")), Not(ContainSubstring("swordfish")), Not(ContainSubstring("proxy"))))
	g.Expect(rules.Namespace + "/" + rules.Name).To(Equal(contract.ClusterNamespace + "/rollout-rules-u-1-r3"))
	g.Expect(rules.OwnerReferences).To(BeEmpty(), "none reaches into another namespace")
	g.Expect(plain(g, rules.Data[revision.RulesKey])).To(And(ContainSubstring("hunter2"), ContainSubstring("swordfish"), Not(ContainSubstring("plain"))))
	for _, secret := range secrets {
		g.Expect(secret.Labels).To(HaveKeyWithValue(contract.SystemLabel, contract.LabelTrue), "it is no template")
		g.Expect(*secret.Immutable).To(BeTrue())
	}
	of, ok := revision.RulesOfSecret(rules)
	g.Expect(ok).To(BeTrue())
	g.Expect(of).To(Equal(revision.RulesOf{Rollout: types.NamespacedName{Namespace: "shop", Name: "web-deployment"}, UID: "u-1", Revision: 3}))
	_, ok = revision.RulesOfSecret(rest)
	g.Expect(ok).To(BeFalse())

	opened, err := revision.Open(rest.Data[revision.SecretKey])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(opened.RulesApart()).To(BeTrue())
	again, err := opened.Check(id, rules.Data[revision.RulesKey])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.Size).To(Equal(len(rest.Data[revision.SecretKey]) + len(rules.Data[revision.RulesKey])))
	again.Size = 0
	g.Expect(again).To(BeComparableTo(kept))

	shown := opened.Unchecked()
	g.Expect(shown.Unshown).To(BeTrue())
	g.Expect(shown.Main.Rules).To(Equal([]override.Rule{rule("mine", "a", "plain")}))
}

// TestHalfARevisionIsNone tries every half of a revision, as left by a lost Secret or by somebody who may write
// Secrets in only one of the namespaces.
func TestHalfARevisionIsNone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	rollout := &metav1.ObjectMeta{Namespace: "shop", Name: "web-deployment", UID: "u-1"}
	kept := keptWithRules(t)
	id := revision.ID{Number: 3, Hash: hash(t, kept.Content)}
	secretsOf := func(kept *revision.Kept) []*corev1.Secret {
		secrets, err := revision.SecretsOf(rollout, 3, kept)
		g.Expect(err).NotTo(HaveOccurred())
		return secrets
	}
	secrets := secretsOf(kept)
	rest, rules := secrets[1].Data[revision.SecretKey], secrets[0].Data[revision.RulesKey]
	_, err := revision.Decode(rest, id)
	g.Expect(err).To(HaveOccurred(), "without the rules")

	other := keptWithRules(t)
	other.Main.Object.SetLabels(map[string]string{"app": "evil"})
	otherRest := secretsOf(other)[1].Data[revision.SecretKey]
	fewer := keptWithRules(t)
	fewer.Dependents = nil
	otherRules := keptWithRules(t)
	otherRules.Main.Rules[0], otherRules.Main.Rules[1] = otherRules.Main.Rules[1], otherRules.Main.Rules[0]
	without := keptWithRules(t)
	without.Main.Rules = without.Main.Rules[2:]
	whole, err := revision.Encode(without)
	g.Expect(err).NotTo(HaveOccurred())
	for what, data := range map[string][2][]byte{
		"another template":          {otherRest, rules},
		"rules in another order":    {rest, secretsOf(otherRules)[0].Data[revision.RulesKey]},
		"rules of fewer objects":    {rest, secretsOf(fewer)[0].Data[revision.RulesKey]},
		"no rules":                  {rest, nil},
		"rules that are none":       {rest, []byte("x")},
		"one that needs none":       {whole, nil},
		"one that takes none":       {whole, rules},
		"the rules of another kind": {rest, rest},
	} {
		opened, err := revision.Open(data[0])
		g.Expect(err).NotTo(HaveOccurred(), what)
		_, err = opened.Check(id, data[1])
		g.Expect(err).To(HaveOccurred(), what)
	}
}

func TestARevisionWithoutRulesOfClusterPoliciesIsOneSecretAsBefore(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	kept := keptWithRules(t)
	kept.Main.Rules = kept.Main.Rules[2:]
	whole, err := revision.Encode(kept)
	g.Expect(err).NotTo(HaveOccurred())
	secrets, err := revision.SecretsOf(&metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u-1"}, 1, kept)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(secrets).To(HaveLen(1))
	g.Expect(secrets[0].Data).To(Equal(map[string][]byte{revision.SecretKey: whole}))

	// The Secret of a cluster-scoped rollout is in a namespace that only those with access to everything can read.
	kept = keptWithRules(t)
	whole, err = revision.Encode(kept)
	g.Expect(err).NotTo(HaveOccurred())
	secrets, err = revision.SecretsOf(&metav1.ObjectMeta{Name: "web", UID: "u-1"}, 1, kept)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(secrets).To(HaveLen(1))
	g.Expect(secrets[0].Namespace).To(Equal(contract.ClusterNamespace))
	g.Expect(secrets[0].Data).To(Equal(map[string][]byte{revision.SecretKey: whole}))

	// An older hub kept the revision of a namespaced rollout in this form, too.
	again, err := revision.Decode(whole, revision.ID{Number: 1, Hash: hash(t, kept.Content)})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.Main.Rules).To(HaveLen(3))
}

func TestWhatSaysNothingOfARolloutHasNoRules(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	whole := func() *metav1.ObjectMeta {
		return &metav1.ObjectMeta{
			Name:        "rollout-rules-u-r3",
			Labels:      map[string]string{contract.RolloutUIDLabel: "u"},
			Annotations: map[string]string{contract.RevisionOfAnnotation: "shop/web", contract.RevisionAnnotation: "3-a"},
		}
	}
	_, ok := revision.RulesOfSecret(whole())
	g.Expect(ok).To(BeTrue())
	for what, spoil := range map[string]func(*metav1.ObjectMeta){
		"no UID":       func(m *metav1.ObjectMeta) { m.Labels = nil },
		"no rollout":   func(m *metav1.ObjectMeta) { delete(m.Annotations, contract.RevisionOfAnnotation) },
		"no namespace": func(m *metav1.ObjectMeta) { m.Annotations[contract.RevisionOfAnnotation] = "web" },
		"no name":      func(m *metav1.ObjectMeta) { m.Annotations[contract.RevisionOfAnnotation] = "shop/" },
		"another name": func(m *metav1.ObjectMeta) { m.Name = "clusterrollout-web-r3" },
		"no revision":  func(m *metav1.ObjectMeta) { m.Annotations[contract.RevisionAnnotation] = "x" },
	} {
		m := whole()
		spoil(m)
		_, ok := revision.RulesOfSecret(m)
		g.Expect(ok).To(BeFalse(), what)
	}
}
