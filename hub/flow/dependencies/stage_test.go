package dependencies_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/common/kube/watchset"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/dependencies"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// elsewhere adds rules to the native ones, as users can: a Deployment with an annotation needs a StorageClass, and ConfigMaps of another
// namespace by label.
type elsewhere struct {
	interpreter.Interpreter
	namespace string
}

func (e elsewhere) Dependencies(ctx context.Context, template *unstructured.Unstructured) ([]configv1alpha1.DependentObjectReference, error) {
	refs, err := e.Interpreter.Dependencies(ctx, template)
	if template.GetAnnotations()["broken"] != "" {
		return nil, errors.New("the rule does not know")
	}
	if class := template.GetAnnotations()["class"]; class != "" {
		refs = append(refs,
			configv1alpha1.DependentObjectReference{APIVersion: "storage.k8s.io/v1", Kind: "StorageClass", Name: class},
			configv1alpha1.DependentObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: e.namespace, LabelSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{"shared": "yes"},
			}},
			configv1alpha1.DependentObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "kube-system", Name: "kube-root-ca.crt"},
		)
	}
	if versions := template.GetAnnotations()["databases"]; versions != "" {
		for version := range strings.SplitSeq(versions, ",") {
			refs = append(refs, configv1alpha1.DependentObjectReference{APIVersion: version, Kind: "Database", Namespace: template.GetNamespace(), Name: "orders"})
		}
	}
	return refs, err
}

type world struct {
	hub              client.Client
	namespace, other string
	// end stops the hub before the end of the test.
	end func()

	events stagetest.Events
}

func start(t *testing.T, change ...func(*dependencies.Deps)) *world {
	t.Helper()
	return startWith(t, func(mgr manager.Manager) manager.Manager { return mgr }, change...)
}

// startWith starts the stage with a replacement of its manager.
func startWith(t *testing.T, instead func(manager.Manager) manager.Manager, change ...func(*dependencies.Deps)) *world {
	t.Helper()
	g := NewWithT(t)
	c := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	w := &world{hub: c.Client(t), namespace: c.Namespace(t), other: c.Namespace(t)}
	mgr := stagetest.Manager(t, c.Config, func(o *manager.Options) { o.Cache.DefaultTransform = cache.TransformStripManagedFields() })
	g.Expect(kube.Index(t.Context(), mgr.GetCache())).To(Succeed())
	deps := dependencies.Deps{
		Exclusions:  selector.NewExclusions("karmada-es-", []*regexp.Regexp{regexp.MustCompile("^kube-.*$")}, selector.SkippedKinds{}),
		Interpreter: elsewhere{native.New(), w.other}, Informers: watchset.NewMetadataInformers(mgr.GetCache()),
		Events: w.record, Clock: clock.RealClock{},
	}
	for _, c := range change {
		c(&deps)
	}
	g.Expect(dependencies.Register(instead(mgr), deps)).To(Succeed())
	w.end = stagetest.Run(t, mgr)
	return w
}

// record records an event, unless it is about objects of an earlier test.
func (w *world) record(e eventsink.Event) {
	namespace := ""
	switch about := e.Regarding.(type) {
	case *corev1.ObjectReference:
		namespace = about.Namespace
	case metav1.Object:
		namespace = about.GetNamespace()
	}
	if namespace != w.namespace && namespace != w.other {
		return
	}
	w.events.Record(e)
}

func (w *world) notes(reason string) []string { return w.events.Notes(reason) }

func (w *world) told(reason string) int { return len(w.events.Notes(reason)) }

func (w *world) create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, obj := range objects {
		NewWithT(t).Expect(w.hub.Create(t.Context(), obj)).To(Succeed())
	}
}

func (w *world) configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, Data: map[string]string{"k": "v"}}
}

// deployment creates a template that mounts ConfigMaps, and the binding that the detector and the scheduler would create for it.
func (w *world) deployment(t *testing.T, name string, configMaps ...string) (*unstructured.Unstructured, *workv1alpha2.ResourceBinding) {
	t.Helper()
	var volumes []any
	for _, c := range configMaps {
		volumes = append(volumes, map[string]any{"name": c, "configMap": map[string]any{"name": c}})
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": name, "namespace": w.namespace},
		"spec": map[string]any{
			"selector": map[string]any{"matchLabels": map[string]any{"app": name}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": name}},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "c", "image": "nginx"}}, "volumes": volumes},
			},
		},
	}}
	w.create(t, u)
	b := &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: contract.BindingName("Deployment", name),
			Labels: map[string]string{contract.ResourceBindingPermanentIDLabel: "id-of-" + name},
		},
		Spec: workv1alpha2.ResourceBindingSpec{
			Resource: workv1alpha2.ObjectReference{
				APIVersion: "apps/v1", Kind: "Deployment", Namespace: w.namespace, Name: name, UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(),
			},
			PropagateDeps: true, Placement: &policyv1alpha1.Placement{},
			Clusters: []workv1alpha2.TargetCluster{{Name: "edge-1", Replicas: 1}},
		},
	}
	w.create(t, b)
	return u, b
}

// change edits an object, retrying on conflicts.
func change[O client.Object](t *testing.T, w *world, obj O, edit func(O)) {
	t.Helper()
	stagetest.Change(t, w.hub, obj, func() { edit(obj) })
}

// attached returns the clusters of a binding, by the bindings that need it.
func (w *world) attached(t *testing.T, namespace, name string) func() map[string][]string {
	t.Helper()
	return func() map[string][]string {
		b := kube.Binding(&workv1alpha2.ResourceBinding{})
		if namespace == "" {
			b = &workv1alpha2.ClusterResourceBinding{}
		}
		err := w.hub.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: name}, b)
		if apierrors.IsNotFound(err) || b.GetDeletionTimestamp() != nil {
			return nil
		}
		if err != nil {
			return map[string][]string{"error": {err.Error()}} // a binding that cannot be read is not one that is gone
		}
		out := map[string][]string{}
		for _, s := range b.BindingSpec().RequiredBy {
			out[s.Name] = []string{}
			for _, c := range s.Clusters {
				out[s.Name] = append(out[s.Name], c.Name)
			}
		}
		return out
	}
}

func TestDependenciesFollowTheWorkload(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	w.create(t, w.configMap("settings"))
	_, b := w.deployment(t, "web", "settings", "later")
	settings := w.attached(t, w.namespace, "settings-configmap")
	g.Eventually(settings, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string][]string{"web-deployment": {"edge-1"}}))
	attached := &workv1alpha2.ResourceBinding{}
	key := types.NamespacedName{Namespace: w.namespace, Name: "settings-configmap"}
	g.Expect(w.hub.Get(t.Context(), key, attached)).To(Succeed())
	g.Expect(attached.Labels).To(HaveKeyWithValue(contract.DependedByLabelPrefix+contract.Hash(w.namespace+"/web-deployment"), "id-of-web"))
	g.Expect(attached.Spec.Placement).To(BeNil())
	g.Expect(attached.Spec.ConflictResolution).To(Equal(policyv1alpha1.ConflictAbort))
	g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
	g.Expect(b.Finalizers).To(ContainElement(contract.DependenciesFinalizer))
	g.Expect(b.Annotations[contract.DependenciesAnnotation]).To(MatchJSON(`[
		{"apiVersion":"v1","kind":"ConfigMap","namespace":"` + w.namespace + `","name":"later"},
		{"apiVersion":"v1","kind":"ConfigMap","namespace":"` + w.namespace + `","name":"settings"}]`))

	// A dependency that is created later is found.
	w.create(t, w.configMap("later"))
	g.Eventually(w.attached(t, w.namespace, "later-configmap"), stagetest.Timeout, stagetest.Poll).Should(HaveKey("web-deployment"))

	// Dependencies move with the workload.
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "edge-2"}, {Name: "edge-3"}}
	})
	g.Eventually(settings, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string][]string{"web-deployment": {"edge-2", "edge-3"}}))

	// New content is rendered again.
	before := attached.Spec.Resource.ResourceVersion
	change(t, w, w.configMap("settings"), func(c *corev1.ConfigMap) { c.Data["k"] = "w" })
	g.Eventually(func() string {
		g.Expect(w.hub.Get(t.Context(), key, attached)).To(Succeed())
		return attached.Spec.Resource.ResourceVersion
	}, stagetest.Timeout, stagetest.Poll).ShouldNot(Equal(before))

	// A deleted binding is created again.
	g.Expect(w.hub.Delete(t.Context(), attached)).To(Succeed())
	g.Expect(w.hub.Patch(t.Context(), attached, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
	g.Eventually(settings, stagetest.Timeout, stagetest.Poll).Should(HaveKey("web-deployment"))

	// Changes by another writer are corrected.
	said := b.Annotations[contract.DependenciesAnnotation]
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Annotations[contract.DependenciesAnnotation] = "nonsense" })
	g.Eventually(func() string {
		g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
		return b.Annotations[contract.DependenciesAnnotation]
	}, stagetest.Timeout, stagetest.Poll).Should(Equal(said))

	// Once it is settled, nothing is written.
	var quiet string
	g.Eventually(func() bool {
		last := quiet
		quiet = w.versions(t)
		return last == quiet
	}, stagetest.Timeout, "50ms").Should(BeTrue())
	g.Consistently(func() string { return w.versions(t) }, stagetest.Quiet, stagetest.Poll).Should(Equal(quiet))

	// Without propagateDeps, everything is detached, and the finalizer is removed from the workload's binding.
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.PropagateDeps = false })
	g.Eventually(settings, stagetest.Timeout, stagetest.Poll).Should(BeNil())
	g.Eventually(func() []string {
		g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
		return b.Finalizers
	}, stagetest.Timeout, stagetest.Poll).ShouldNot(ContainElement(contract.DependenciesFinalizer))
	g.Expect(b.Annotations).NotTo(HaveKey(contract.DependenciesAnnotation))
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		b.Annotations = map[string]string{contract.DependenciesAnnotation: said}
	})
	g.Eventually(func() map[string]string {
		g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
		return b.Annotations
	}, stagetest.Timeout, stagetest.Poll).ShouldNot(HaveKey(contract.DependenciesAnnotation), "nothing is attached")
}

// versions returns the bindings of the namespace with their resourceVersions.
func (w *world) versions(t *testing.T) string {
	t.Helper()
	var list workv1alpha2.ResourceBindingList
	NewWithT(t).Expect(w.hub.List(t.Context(), &list, client.InNamespace(w.namespace))).To(Succeed())
	out := ""
	for i := range list.Items {
		out += list.Items[i].Name + "=" + list.Items[i].ResourceVersion + " "
	}
	return out
}

func TestTwoWorkloadsShareDependency(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	w.create(t, w.configMap("shared"))
	_, web := w.deployment(t, "web", "shared")
	api, apiBinding := w.deployment(t, "api", "shared")
	shared := w.attached(t, w.namespace, "shared-configmap")
	g.Eventually(shared, stagetest.Timeout, stagetest.Poll).Should(And(HaveKey("web-deployment"), HaveKey("api-deployment")))

	change(t, w, web, func(b *workv1alpha2.ResourceBinding) { b.Spec.ConflictResolution = policyv1alpha1.ConflictOverwrite })
	b := &workv1alpha2.ResourceBinding{}
	g.Eventually(func() policyv1alpha1.ConflictResolution {
		g.Expect(w.hub.Get(t.Context(), types.NamespacedName{Namespace: w.namespace, Name: "shared-configmap"}, b)).To(Succeed())
		return b.Spec.ConflictResolution
	}, stagetest.Timeout, stagetest.Poll).Should(Equal(policyv1alpha1.ConflictOverwrite))
	differ := func() string {
		g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
		if c := meta.FindStatusCondition(b.Status.Conditions, workv1alpha2.BindingDependencyPolicyConflict); c != nil {
			return c.Message
		}
		return ""
	}
	g.Eventually(differ, stagetest.Timeout, stagetest.Poll).Should(And(HavePrefix("ConflictResolution conflicted (Overwrite vs Abort). "), Not(ContainSubstring("true vs false"))))
	g.Eventually(func() []string { return w.notes("DependencyPolicyConflict") }, stagetest.Timeout, stagetest.Poll).Should(ConsistOf(b.Status.Conditions[0].Message))

	// A second option differs. Then the first policy is corrected, and then the other.
	change(t, w, web, func(b *workv1alpha2.ResourceBinding) { b.Spec.PreserveResourcesOnDeletion = new(true) })
	g.Eventually(differ, stagetest.Timeout, stagetest.Poll).Should(HavePrefix(
		"ConflictResolution conflicted (Overwrite vs Abort), PreserveResourcesOnDeletion conflicted (true vs false). "))
	preserving := func() map[string]*bool {
		out := map[string]*bool{}
		for _, by := range w.attachedBinding(t, "shared-configmap").Spec.RequiredBy {
			out[by.Name] = by.Preserve
		}
		return out
	}
	noted := And(HaveKeyWithValue("web-deployment", HaveValue(BeTrue())), HaveKeyWithValue("api-deployment", HaveValue(BeFalse())))
	g.Expect(preserving()).To(noted)
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		for i := range b.Spec.RequiredBy {
			b.Spec.RequiredBy[i].Preserve = nil
		}
	})
	g.Eventually(preserving, stagetest.Timeout, stagetest.Poll).Should(noted, "a missing record of an earlier hub is written")
	change(t, w, apiBinding, func(b *workv1alpha2.ResourceBinding) { b.Spec.ConflictResolution = policyv1alpha1.ConflictOverwrite })
	g.Eventually(differ, stagetest.Timeout, stagetest.Poll).Should(HavePrefix("PreserveResourcesOnDeletion conflicted (true vs false). "))
	change(t, w, web, func(b *workv1alpha2.ResourceBinding) { b.Spec.PreserveResourcesOnDeletion = nil })
	g.Eventually(differ, stagetest.Timeout, stagetest.Poll).Should(BeEmpty(), "no conflict if the policies agree")
	change(t, w, apiBinding, func(b *workv1alpha2.ResourceBinding) { b.Spec.ConflictResolution = policyv1alpha1.ConflictAbort })
	g.Eventually(differ, stagetest.Timeout, stagetest.Poll).Should(HavePrefix("ConflictResolution conflicted"))

	// One workload does not need the object any more: its template changed.
	g.Expect(unstructured.SetNestedSlice(api.Object, nil, "spec", "template", "spec", "volumes")).To(Succeed())
	g.Expect(w.hub.Update(t.Context(), api)).To(Succeed())
	change(t, w, apiBinding, func(b *workv1alpha2.ResourceBinding) { b.Spec.Resource.ResourceVersion = api.GetResourceVersion() })
	g.Eventually(shared, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string][]string{"web-deployment": {"edge-1"}}))

	g.Eventually(differ, stagetest.Timeout, stagetest.Poll).Should(BeEmpty(), "no conflict with a single workload")

	// The other workload is deleted, and its dependency with it.
	g.Expect(w.hub.Delete(t.Context(), web)).To(Succeed())
	g.Eventually(shared, stagetest.Timeout, stagetest.Poll).Should(BeNil())
	g.Eventually(func() error { return w.hub.Get(t.Context(), client.ObjectKeyFromObject(web), web) }, stagetest.Timeout, stagetest.Poll).Should(Satisfy(apierrors.IsNotFound))
}

func TestDependenciesStayWithPreservedWorkload(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	w.create(t, w.configMap("shared"), w.configMap("own"))
	_, web := w.deployment(t, "web", "shared")
	_, last := w.deployment(t, "last", "own")
	w.deployment(t, "api", "shared")
	shared := w.attached(t, w.namespace, "shared-configmap")
	g.Eventually(shared, stagetest.Timeout, stagetest.Poll).Should(HaveLen(2))
	g.Eventually(w.attached(t, w.namespace, "own-configmap"), stagetest.Timeout, stagetest.Poll).Should(HaveLen(1))
	spec := func(name string) func() workv1alpha2.ResourceBindingSpec {
		return func() workv1alpha2.ResourceBindingSpec { return w.attachedBinding(t, name).Spec }
	}
	stays := func(clusters ...string) OmegaMatcher { return HaveField("PreservedIn", clusters) }

	// The workload moves, and the same edit of its policy preserves what it leaves.
	change(t, w, web, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.PreserveResourcesOnDeletion = new(true)
		b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "edge-2"}}
	})
	g.Eventually(spec("shared-configmap"), stagetest.Timeout, stagetest.Poll).Should(stays("edge-1"))
	g.Expect(w.hub.Delete(t.Context(), web)).To(Succeed())
	g.Eventually(shared, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string][]string{"api-deployment": {"edge-1"}}))
	g.Expect(spec("shared-configmap")()).To(And(stays("edge-1", "edge-2"), HaveField("PreserveResourcesOnDeletion", HaveValue(BeFalse()))))

	// The policy of the last workload that needs an object preserves it just before the workload is deleted.
	w.end()
	change(t, w, last, func(b *workv1alpha2.ResourceBinding) { b.Spec.PreserveResourcesOnDeletion = new(true) })
	g.Expect(w.hub.Delete(t.Context(), last)).To(Succeed())
	w.behind(t, "/nothing", func(*cache.Options) {})
	g.Eventually(func() bool { return w.attachedBinding(t, "own-configmap").DeletionTimestamp != nil }, stagetest.Timeout, stagetest.Poll).Should(BeTrue())
	g.Expect(spec("own-configmap")().PreserveResourcesOnDeletion).To(HaveValue(BeTrue()))
}

// TestDependenciesStayIfLivePolicyPreserves deletes workloads whose policy was edited. The detector, which does not run here, has
// not written the edit on their bindings.
func TestDependenciesStayIfLivePolicyPreserves(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	for name, tc := range map[string]struct {
		id       string
		preserve bool
		want     bool
	}{
		"kept":    {id: "policy-1", preserve: true, want: true},
		"another": {id: "policy-0", preserve: true},
		"lost":    {id: "policy-1"},
	} {
		w.create(t, w.configMap(name+"-own"), w.configMap(name+"-shared"))
		_, b := w.deployment(t, name, name+"-own", name+"-shared")
		w.deployment(t, name+"-stays", name+"-shared")
		change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
			b.Labels[contract.PropagationPolicyPermanentIDLabel] = tc.id
			b.Annotations = map[string]string{
				contract.PropagationPolicyNamespaceAnnotation: w.namespace, contract.PropagationPolicyNameAnnotation: name,
			}
		})
		own, shared := name+"-own-configmap", name+"-shared-configmap"
		g.Eventually(w.attached(t, w.namespace, own), stagetest.Timeout, stagetest.Poll).Should(HaveLen(1))
		g.Eventually(w.attached(t, w.namespace, shared), stagetest.Timeout, stagetest.Poll).Should(HaveLen(2))
		change(t, w, w.attachedBinding(t, own), func(b *workv1alpha2.ResourceBinding) { b.Finalizers = append(b.Finalizers, "test.fairlead.dev/read") })

		policy := builder.MakePolicy(w.namespace, name).Select("apps/v1", "Deployment", name).Clusters("edge-1").Obj()
		policy.Labels, policy.Spec.PreserveResourcesOnDeletion = map[string]string{contract.PropagationPolicyPermanentIDLabel: "policy-1"}, &tc.preserve
		w.create(t, policy)
		g.Expect(w.hub.Delete(t.Context(), b)).To(Succeed())
		g.Eventually(w.attached(t, w.namespace, own), stagetest.Timeout, stagetest.Poll).Should(BeNil())
		g.Eventually(w.attached(t, w.namespace, shared), stagetest.Timeout, stagetest.Poll).Should(HaveLen(1))
		goes := w.attachedBinding(t, own)
		g.Expect(ptr.Deref(goes.Spec.PreserveResourcesOnDeletion, false)).To(Equal(tc.want), name)
		g.Expect(ptr.Deref(goes.Spec.RequiredBy[0].Preserve, false)).To(Equal(tc.want), name)
		if tc.want {
			g.Expect(w.attachedBinding(t, shared).Spec.PreservedIn).To(Equal([]string{"edge-1"}))
		} else {
			g.Expect(w.attachedBinding(t, shared).Spec.PreservedIn).To(BeEmpty(), name)
		}
		change(t, w, goes, func(b *workv1alpha2.ResourceBinding) { b.Finalizers = nil })
	}
}

func TestSelectedDependencyKeepsItsBinding(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	settings := w.configMap("settings")
	w.create(t, settings, &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "settings-configmap"},
		Spec: workv1alpha2.ResourceBindingSpec{
			Resource:  workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: w.namespace, Name: "settings"},
			Placement: &policyv1alpha1.Placement{}, Clusters: []workv1alpha2.TargetCluster{{Name: "own"}},
		},
	})
	_, web := w.deployment(t, "web", "settings")
	attached := w.attached(t, w.namespace, "settings-configmap")
	g.Eventually(attached, stagetest.Timeout, stagetest.Poll).Should(HaveKey("web-deployment"))
	g.Expect(w.hub.Delete(t.Context(), web)).To(Succeed())
	g.Eventually(attached, stagetest.Timeout, stagetest.Poll).Should(And(Not(BeNil()), BeEmpty()))
}

func TestDependenciesInOtherNamespacesNeedGrants(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	class := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": map[string]any{"name": w.namespace}, "provisioner": "example.com/none",
	}}
	w.create(t, class)
	t.Cleanup(func() { _ = w.hub.Delete(context.WithoutCancel(t.Context()), class) })
	shared := w.configMap("shared")
	shared.Namespace, shared.Labels = w.other, map[string]string{"shared": "yes"}
	alike := shared.DeepCopy()
	alike.Name = "more"
	w.create(t, shared, alike)
	definition := builder.MakeDefinition("gateway.networking.k8s.io", "v1beta1", "ReferenceGrant")
	w.create(t, definition)
	t.Cleanup(func() { _ = w.hub.Delete(context.WithoutCancel(t.Context()), definition) })
	w.create(t, w.configMap("own"))
	u, b := w.deployment(t, "web", "own")
	forged := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: w.other, Name: "forged"}, Spec: *b.Spec.DeepCopy()}
	w.create(t, forged)
	staged, stagedBinding := w.deployment(t, "staged")
	change(t, w, stagedBinding, func(b *workv1alpha2.ResourceBinding) {
		metav1.SetMetaDataAnnotation(&b.ObjectMeta, contract.RolloutStrategyAnnotation, "careful")
	})
	staged.SetAnnotations(map[string]string{"class": w.namespace})
	g.Expect(w.hub.Update(t.Context(), staged)).To(Succeed())
	change(t, w, stagedBinding, func(b *workv1alpha2.ResourceBinding) { b.Spec.Resource.ResourceVersion = staged.GetResourceVersion() })
	u.SetAnnotations(map[string]string{"class": w.namespace})
	g.Expect(w.hub.Update(t.Context(), u)).To(Succeed())
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.Resource.ResourceVersion = u.GetResourceVersion() })

	g.Eventually(w.attached(t, "", w.namespace+"-storageclass"), stagetest.Timeout, stagetest.Poll).Should(HaveKey("web-deployment"), "cluster-scoped")
	notGranted := func() []string { return w.notes("DependencyNotGranted") }
	g.Eventually(notGranted, stagetest.Timeout, stagetest.Poll).Should(And(
		ContainElement(And(ContainSubstring("ConfigMap "+w.other), ContainSubstring("a ReferenceGrant"), ContainSubstring("kind Deployment of group \"apps\" in namespace "+w.namespace))),
		ContainElement(ContainSubstring("changes go out in waves")),
	))
	elsewhere := w.attached(t, w.other, "shared-configmap")
	g.Expect(elsewhere()).To(BeNil(), "no dependency in another namespace without a grant")
	g.Expect(b.Annotations[contract.DependenciesAnnotation]).NotTo(ContainSubstring(w.other))
	g.Eventually(func() error { // once the kind is served
		return w.hub.Create(t.Context(), builder.MakeGrant(w.other, "secrets", "apps", "Deployment", w.namespace, "Secret").Obj())
	}, stagetest.Timeout, stagetest.Poll).Should(Succeed())
	g.Consistently(elsewhere, stagetest.Quiet, stagetest.Poll).Should(BeNil(), "a grant for another kind has no effect")
	granted := builder.MakeGrant(w.other, "configmaps", "apps", "Deployment", w.namespace, "ConfigMap").Obj()
	w.create(t, granted)
	g.Eventually(elsewhere, stagetest.Timeout, stagetest.Poll).Should(HaveKey("web-deployment"), "an object in another namespace is attached by label")
	g.Expect(w.attached(t, "kube-system", "kube-root-ca.crt-configmap")()).To(BeNil(), "objects in system namespaces are not attached")

	change(t, w, shared, func(c *corev1.ConfigMap) { c.Labels = nil })
	g.Eventually(elsewhere, stagetest.Timeout, stagetest.Poll).Should(BeNil(), "an object without the label is detached")
	more := w.attached(t, w.other, "more-configmap")
	g.Eventually(more, stagetest.Timeout, stagetest.Poll).Should(HaveKey("web-deployment"))
	g.Expect(more()).NotTo(HaveKey("staged-deployment"), "a staged workload gets no new object of another namespace")
	g.Expect(w.attached(t, w.namespace, "own-configmap")()).To(And(HaveKey("web-deployment"), Not(HaveKey("forged"))), "a forged binding attaches nothing")

	// From now on the workload is rolled out in waves, and the first revision is in all clusters. The objects that were attached before are
	// not in that revision, and stay.
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		metav1.SetMetaDataAnnotation(&b.ObjectMeta, contract.RolloutStrategyAnnotation, "careful")
	})
	rollout := &fairleadv1alpha1.StagedRollout{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: b.Name}}
	w.create(t, rollout)
	kept := w.keeps(t, rollout, 1, u)
	rollout.Status = fairleadv1alpha1.StagedRolloutStatus{
		Phase: fairleadv1alpha1.RolloutCompleted, Revision: 1, Stable: 1, Revisions: []fairleadv1alpha1.RevisionStatus{kept},
	}
	g.Expect(w.hub.Status().Update(t.Context(), rollout)).To(Succeed())
	g.Eventually(notGranted, stagetest.Timeout, stagetest.Poll).Should(ContainElement(And(
		ContainSubstring("ConfigMap "+w.other+"/more"), ContainSubstring("It stays in its clusters as long as a ReferenceGrant there allows it"))))
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "edge-2"}}
	})
	g.Eventually(more, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string][]string{"web-deployment": {"edge-2"}}), "the object moves with the workload")
	g.Consistently(more, stagetest.Quiet, stagetest.Poll).Should(HaveKey("web-deployment"))
	change(t, w, shared, func(c *corev1.ConfigMap) { c.Labels = map[string]string{"shared": "yes"} })
	g.Consistently(elsewhere, stagetest.Quiet, stagetest.Poll).Should(BeNil(), "no new object of another namespace is attached")
	g.Expect(w.hub.Delete(t.Context(), granted)).To(Succeed())
	g.Eventually(more, stagetest.Timeout, stagetest.Poll).Should(BeNil(), "the object is detached when the grant is revoked")
	g.Expect(w.hub.Delete(t.Context(), b)).To(Succeed())
	g.Expect(w.hub.Delete(t.Context(), stagedBinding)).To(Succeed())
	g.Eventually(w.attached(t, "", w.namespace+"-storageclass"), stagetest.Timeout, stagetest.Poll).Should(BeNil())
}

func TestFailingRuleIsReportedOnce(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	w.create(t, w.configMap("settings"))
	u, b := w.deployment(t, "web", "settings")
	settings := w.attached(t, w.namespace, "settings-configmap")
	g.Eventually(settings, stagetest.Timeout, stagetest.Poll).Should(HaveKey("web-deployment"))
	annotate := func(value string) {
		u.SetAnnotations(map[string]string{"broken": value})
		g.Expect(w.hub.Update(t.Context(), u)).To(Succeed())
		change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.Resource.ResourceVersion = u.GetResourceVersion() })
	}
	failed := func() int { return w.told("GetDependenciesFailed") }
	annotate("yes")
	g.Eventually(failed, stagetest.Timeout, stagetest.Poll).Should(Equal(1))
	g.Consistently(failed, stagetest.Quiet, stagetest.Poll).Should(Equal(1), "retries do not repeat the event")
	g.Expect(settings()).To(HaveKey("web-deployment"), "attached objects stay")
	before := w.told("GetDependenciesSucceed")
	annotate("")
	g.Eventually(func() int { return w.told("GetDependenciesSucceed") }, stagetest.Timeout, stagetest.Poll).Should(BeNumerically(">", before))
	annotate("yes")
	g.Eventually(failed, stagetest.Timeout, stagetest.Poll).Should(Equal(2), "a new failure after a success is reported again")
}
