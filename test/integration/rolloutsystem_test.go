package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// staged creates a strategy of a canary wave and a wave for the rest, and returns its name.
func (s *system) staged(t *testing.T, canary string, change func(*fairleadv1alpha1.RolloutStrategySpec)) string {
	t.Helper()
	strategy := &fairleadv1alpha1.RolloutStrategy{
		ObjectMeta: metav1.ObjectMeta{Name: "test-" + rand.String(8)},
		Spec: fairleadv1alpha1.RolloutStrategySpec{
			Settle: &metav1.Duration{Duration: 200 * time.Millisecond},
			Waves: []fairleadv1alpha1.Wave{
				{Name: "canary", Clusters: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{canary}}},
				{Name: fairleadv1alpha1.WaveRest},
			},
			CatchUp: fairleadv1alpha1.CatchUp{Settle: &metav1.Duration{Duration: time.Second}},
		},
	}
	change(&strategy.Spec)
	s.create(t, strategy)
	t.Cleanup(func() { _ = s.hub.Client(t).Delete(context.WithoutCancel(t.Context()), strategy) })
	return strategy.Name
}

// progressWithin sets the progress deadline of a strategy: seconds for clusters that must fail, and for others as much
// as a busy machine may need.
func (s *system) progressWithin(t *testing.T, strategy string, deadline time.Duration) {
	t.Helper()
	patch := fmt.Sprintf(`{"spec":{"progressDeadline":%q}}`, deadline)
	NewWithT(t).Expect(s.hub.Client(t).Patch(t.Context(), &fairleadv1alpha1.RolloutStrategy{ObjectMeta: metav1.ObjectMeta{Name: strategy}},
		client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
}

// by names a strategy in a policy.
func by(strategy string, p *policyv1alpha1.PropagationPolicy) *policyv1alpha1.PropagationPolicy {
	p.Annotations = map[string]string{contract.RolloutStrategyAnnotation: strategy}
	return p
}

// rollout returns the rollout of a template.
func (s *system) rollout(t *testing.T, g Gomega, template *unstructured.Unstructured) kube.Rollout {
	t.Helper()
	r := kube.RolloutsIn(template.GetNamespace()).New()
	g.Expect(s.hub.Client(t).Get(t.Context(), rolloutOf(template), r)).To(Succeed())
	return r
}

// rolled returns the status of the rollout of a template.
func (s *system) rolled(t *testing.T, g Gomega, template *unstructured.Unstructured) *fairleadv1alpha1.StagedRolloutStatus {
	t.Helper()
	return s.rollout(t, g, template).RolloutStatus()
}

func rolloutOf(template *unstructured.Unstructured) client.ObjectKey {
	return client.ObjectKey{Namespace: template.GetNamespace(), Name: contract.BindingName(template.GetKind(), template.GetName())}
}

// awaitRollout waits until the newest revision has a number and a phase.
func (s *system) awaitRollout(t *testing.T, template *unstructured.Unstructured, number int64, phase fairleadv1alpha1.RolloutPhase) *fairleadv1alpha1.StagedRolloutStatus {
	t.Helper()
	var status *fairleadv1alpha1.StagedRolloutStatus
	eventually(t, func(g Gomega) {
		status = s.rolled(t, g, template)
		g.Expect(status.Revision).To(Equal(number), "%+v", status)
		g.Expect(status.Phase).To(Equal(phase), "%+v", status)
	})
	return status
}

// tell changes the spec of a rollout.
func (s *system) tell(t *testing.T, c client.Client, template *unstructured.Unstructured, change func(*fairleadv1alpha1.StagedRolloutSpec)) error {
	t.Helper()
	r := s.rollout(t, NewWithT(t), template)
	before, _ := r.DeepCopyObject().(client.Object)
	change(r.RolloutSpec())
	return c.Patch(t.Context(), r, client.MergeFrom(before))
}

// env returns the value of the only variable of the only container of a Deployment.
func env(obj *unstructured.Unstructured) string {
	containers, _, _ := unstructured.NestedSlice(obj.Object, "spec", "template", "spec", "containers")
	if len(containers) != 1 {
		return ""
	}
	container, _ := containers[0].(map[string]any)
	list, _, _ := unstructured.NestedSlice(container, "env")
	if len(list) != 1 {
		return ""
	}
	variable, _ := list[0].(map[string]any)
	value, _ := variable["value"].(string)
	return value
}

// setEnv sets that variable, and the node selector; unknown names match no node.
func setEnv(g Gomega, obj *unstructured.Unstructured, value, node string) {
	g.Expect(unstructured.SetNestedSlice(obj.Object, []any{map[string]any{
		"name": "web", "image": "nginx:1.27", "env": []any{map[string]any{"name": "VERSION", "value": value}},
	}}, "spec", "template", "spec", "containers")).To(Succeed())
	if node == "" {
		unstructured.RemoveNestedField(obj.Object, "spec", "template", "spec", "nodeSelector")
		return
	}
	g.Expect(unstructured.SetNestedStringMap(obj.Object, map[string]string{"node": node}, "spec", "template", "spec", "nodeSelector")).To(Succeed())
}

// author returns the client of a user who may only change rollouts in a namespace.
func (s *system) author(t *testing.T, ns string) client.Client {
	t.Helper()
	s.create(t,
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "author"}, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"fairlead.dev"}, Resources: []string{"stagedrollouts"}, Verbs: []string{"get", "patch"},
		}}},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "author"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "author"},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "author"}},
		})
	cfg := rest.CopyConfig(s.hub.Config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: "author"}
	scheme, err := kube.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
