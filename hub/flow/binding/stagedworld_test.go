package binding_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/override"
	"fairlead.dev/common/revision"
	"fairlead.dev/common/selector"
	"fairlead.dev/test/stagetest"
)

// byStrategy sets the strategy of a binding.
func (w *world) byStrategy(t *testing.T, b *workv1alpha2.ResourceBinding) {
	t.Helper()
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		metav1.SetMetaDataAnnotation(&b.ObjectMeta, contract.RolloutStrategyAnnotation, "careful")
	})
}

// createStaged creates a template with a binding that has a strategy from the start.
func (w *world) createStaged(t *testing.T, template *unstructured.Unstructured, members ...string) *workv1alpha2.ResourceBinding {
	t.Helper()
	b := w.create(t, template)
	w.byStrategy(t, b)
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Clusters = w.shares(members...)
		for i := range b.Spec.Clusters {
			b.Spec.Clusters[i].Replicas = b.Spec.Replicas
		}
	})
	return b
}

// edit changes a template, and records that on the binding as the detector does.
func (w *world) edit(t *testing.T, template *unstructured.Unstructured, b *workv1alpha2.ResourceBinding, mutate func(*unstructured.Unstructured)) {
	t.Helper()
	change(t, w, template, mutate)
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.Resource.ResourceVersion = template.GetResourceVersion() })
}

func image(of string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		containers := []any{map[string]any{"name": o.GetName(), "image": of}}
		if err := unstructured.SetNestedSlice(o.Object, containers, "spec", "template", "spec", "containers"); err != nil {
			panic(err)
		}
	}
}

// source is the present input for a part of a revision.
func (w *world) source(t *testing.T, template *unstructured.Unstructured, b kube.Binding) revision.Source {
	t.Helper()
	g := NewWithT(t)
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(template.GroupVersionKind())
	g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(template), live)).To(Succeed())
	var list policyv1alpha1.OverridePolicyList
	g.Expect(w.hub.List(t.Context(), &list, client.InNamespace(w.namespace))).To(Succeed())
	out := revision.Source{Template: live, Rules: override.Select(override.Policies{Namespaced: list.Items}, selector.TargetOf(live)).Rules()}
	if bindings.IsWorkload(b.BindingSpec()) {
		kinds := native.New()
		out.Revise = func(obj *unstructured.Unstructured, replicas int32) (*unstructured.Unstructured, error) {
			return kinds.ReviseReplicas(t.Context(), obj, replicas)
		}
	}
	return out
}

// rollout is the rollout of a binding, controlled by the test instead of the rollout stage.
type rollout struct {
	world *world
	obj   kube.Rollout
}

// rollOut creates the rollout of a binding.
func (w *world) rollOut(t *testing.T, b kube.Binding) *rollout {
	t.Helper()
	kind := kube.RolloutsIn(b.GetNamespace())
	obj := kind.New()
	obj.SetNamespace(b.GetNamespace())
	obj.SetName(b.GetName())
	owner := "ResourceBinding"
	if b.GetNamespace() == "" {
		owner = "ClusterResourceBinding"
	}
	obj.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: workv1alpha2.GroupVersion.String(), Kind: owner, Name: b.GetName(), UID: b.GetUID(), Controller: new(true),
	}})
	NewWithT(t).Expect(w.hub.Create(t.Context(), obj)).To(Succeed())
	t.Cleanup(func() { _ = w.hub.Delete(context.WithoutCancel(t.Context()), obj) })
	return &rollout{world: w, obj: obj}
}

// cut stores a revision and returns its status; it is not sent to any cluster yet.
func (r *rollout) cut(t *testing.T, number int64, cause string, main revision.Source, dependents ...revision.Source) fairleadv1alpha1.RevisionStatus {
	t.Helper()
	g := NewWithT(t)
	content, err := revision.Make(main, dependents...)
	g.Expect(err).NotTo(HaveOccurred())
	secrets, err := revision.SecretsOf(r.obj, number, &revision.Kept{Content: content, MadeAt: metav1.Unix(number*1000, 0)})
	g.Expect(err).NotTo(HaveOccurred())
	hash, err := content.Hash()
	g.Expect(err).NotTo(HaveOccurred())
	for _, secret := range secrets {
		secret.Immutable = nil // so that a test may modify it
		g.Expect(r.world.hub.Create(t.Context(), secret)).To(Succeed())
	}
	return fairleadv1alpha1.RevisionStatus{Number: number, Hash: hash, Cause: cause, CreatedAt: metav1.Now()}
}

// says writes the status: which revisions exist, which one is stable, and which clusters get another one.
func (r *rollout) says(t *testing.T, stable int64, to map[string]int64, revisions ...fairleadv1alpha1.RevisionStatus) {
	t.Helper()
	change := func() error {
		if err := r.world.hub.Get(t.Context(), client.ObjectKeyFromObject(r.obj), r.obj); err != nil {
			return err
		}
		status := r.obj.RolloutStatus()
		status.Stable, status.Clusters = stable, nil
		for _, rev := range revisions {
			if !slices.ContainsFunc(status.Revisions, func(x fairleadv1alpha1.RevisionStatus) bool { return x.Number == rev.Number }) {
				status.Revisions = append(status.Revisions, rev)
			}
			status.Revision = max(status.Revision, rev.Number)
		}
		for _, member := range slices.Sorted(maps.Keys(to)) {
			state := fairleadv1alpha1.ClusterInFlight
			if to[member] == 0 {
				state = fairleadv1alpha1.ClusterHeld
			}
			status.Clusters = append(status.Clusters, fairleadv1alpha1.ClusterGroup{
				State: state, Revision: to[member], Names: []string{r.world.member(member)},
			})
		}
		return r.world.hub.Status().Update(t.Context(), r.obj)
	}
	NewWithT(t).Eventually(change, stagetest.Timeout, stagetest.Poll).Should(Succeed())
}

// has returns the content of a template's Works by member: the image of a workload and its replicas, or the value of a ConfigMap; with the
// number of the revision.
func (w *world) has(t *testing.T, template *unstructured.Unstructured, members ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, member := range members {
		work := &workv1alpha1.Work{}
		if err := w.hub.Get(t.Context(), w.workKey(member, template), work); err != nil {
			out[member] = "nothing"
			continue
		}
		obj := &unstructured.Unstructured{}
		NewWithT(t).Expect(obj.UnmarshalJSON(work.Spec.Workload.Manifests[0].Raw)).To(Succeed())
		text := ""
		switch template.GetKind() {
		case "Deployment":
			list, _, _ := unstructured.NestedSlice(obj.Object, "spec", "template", "spec", "containers")
			container, _ := list[0].(map[string]any)
			text, _ = container["image"].(string)
			if tier := obj.GetLabels()["tier"]; tier != "" {
				text += " " + tier
			}
		case "ConfigMap":
			text, _, _ = unstructured.NestedString(obj.Object, "data", "key")
		default:
			text = obj.GetLabels()["tier"]
		}
		if id := revision.Parse(work.Annotations[contract.RevisionAnnotation]); !id.Zero() {
			text += " r" + string(rune('0'+id.Number))
		}
		out[member] = text
	}
	return out
}

// stays expects that nothing in this world is written for a while.
func (w *world) stays(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	g.Consistently(func() []string { return w.wrote() }, stagetest.Quiet, stagetest.Poll).Should(BeEmpty())
}

// needs attaches the binding of a ConfigMap to workloads, in their clusters.
func (w *world) needs(t *testing.T, b *workv1alpha2.ResourceBinding, by ...*workv1alpha2.ResourceBinding) {
	t.Helper()
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.RequiredBy = nil
		for _, other := range by {
			if b.Labels == nil {
				b.Labels = map[string]string{}
			}
			b.Labels[contract.DependedByLabelPrefix+contract.Hash(other.Namespace+"/"+other.Name)] = "id"
			clusters := slices.Clone(other.Spec.Clusters)
			for i := range clusters {
				clusters[i].Replicas = 0
			}
			b.Spec.RequiredBy = append(b.Spec.RequiredBy, workv1alpha2.BindingSnapshot{Namespace: other.Namespace, Name: other.Name, Clusters: clusters})
		}
	})
}

func value(of string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(o.Object, of, "data", "key"); err != nil {
			panic(err)
		}
	}
}

// setAfter returns how often replicas were set in this world after the last change of a Work in a namespace; 0 without one.
func (w *world) setAfter(namespace string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, x := range slices.Backward(w.done) {
		switch {
		case x.method == setReplicas && x.path == w.namespace:
			n++
		case x.method == http.MethodPatch && strings.Contains(x.path, "/"+namespace+"/"):
			return n
		}
	}
	return 0
}
