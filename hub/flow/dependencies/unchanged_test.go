package dependencies_test

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/common/kube/watchset"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/dependencies"
	"fairlead.dev/hub/flow/dependencies/attach"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

// remembering is a hub whose status stage writes what the stage leaves to it.
type remembering struct {
	*world
	program    string
	deferred   *kube.DeferredStatus
	reads      map[string]*stagetest.Requests
	reconciles *stagetest.Reconciles
	stop       func()
}

// remember starts the stage of a program, and counts how often it reads each of some templates.
func (w *world) remember(t *testing.T, program string, names ...string) *remembering {
	t.Helper()
	out := &remembering{
		world: w, program: program, deferred: kube.NewDeferredStatus(clock.RealClock{}),
		reads: map[string]*stagetest.Requests{}, reconciles: &stagetest.Reconciles{},
	}
	cfg := cluster.Shared(t, cluster.Options{Profile: cluster.Hub}).Config
	for _, name := range names {
		cfg, out.reads[name] = stagetest.Count(cfg, "/namespaces/"+w.namespace+"/deployments/"+name)
	}
	out.stop = stagetest.Start(t, cfg, func(mgr manager.Manager) error {
		return dependencies.Register(mgr, dependencies.Deps{
			Exclusions:  selector.NewExclusions("karmada-es-", nil, selector.SkippedKinds{}),
			Interpreter: elsewhere{native.New(), w.other}, Informers: watchset.NewMetadataInformers(mgr.GetCache()),
			Events: func(eventsink.Event) {}, Clock: clock.RealClock{}, Deferred: out.deferred, Program: program,
		})
	}, func(o *manager.Options) { o.Cache.DefaultTransform = cache.TransformStripManagedFields() }, out.reconciles.Count)
	return out
}

// looked waits until the stage has looked at the bindings of some templates. At "withheld" it looks again after a time, as long as the hub
// does not serve ReferenceGrants.
func (r *remembering) looked(t *testing.T, names []string) {
	t.Helper()
	for _, name := range names {
		key := client.ObjectKey{Namespace: r.namespace, Name: contract.BindingName("Deployment", name)}
		NewWithT(t).Eventually(func() bool {
			return r.reconciles.Succeeded("dependencies", key) > 0 || name == "withheld" && r.reconciles.Requeued("dependencies", key) > 0
		}, stagetest.Timeout, stagetest.Poll).Should(BeTrue(), name)
	}
}

// says has the status of a binding say what waits for it, as soon as that is there, and that it is about the template as it is.
func (r *remembering) says(t *testing.T, b *workv1alpha2.ResourceBinding) {
	t.Helper()
	NewWithT(t).Eventually(func() error {
		if err := r.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		r.deferred.Include(b)
		return r.hub.Status().Update(t.Context(), b)
	}, stagetest.Timeout, stagetest.Poll).Should(Succeed())
}

// origin is what the status of a binding would say of it as it is.
func (r *remembering) origin(b *workv1alpha2.ResourceBinding) string {
	return attach.Origin{Program: r.program, Binding: b}.Digest()
}

// see has a binding say what the detector saw of its template.
func (w *world) see(t *testing.T, template *unstructured.Unstructured, b *workv1alpha2.ResourceBinding) {
	t.Helper()
	NewWithT(t).Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(template), template)).To(Succeed())
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		metav1.SetMetaDataAnnotation(&b.ObjectMeta, contract.TemplateFingerprintAnnotation, bindings.MadeOf(template, ""))
		b.Spec.Resource.ResourceVersion = template.GetResourceVersion()
	})
}

// TestAHubThatStartsReadsOnlyTemplatesThatMayNeedSomethingElse has the stage start after each input of a list of dependencies
// changed while there was none.
func TestAHubThatStartsReadsOnlyTemplatesThatMayNeedSomethingElse(t *testing.T) {
	g := NewWithT(t)
	api := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	w := &world{hub: api.Client(t), namespace: api.Namespace(t), other: api.Namespace(t)}
	names := []string{"same", "none", "moved", "edited", "shortened", "forged", "lengthened", "lost", "taken", "withheld"}
	templates, of := map[string]*unstructured.Unstructured{}, map[string]*workv1alpha2.ResourceBinding{}
	w.create(t, w.configMap("of-nobody"))
	for _, name := range names {
		var needs []string
		if name != "none" {
			needs = []string{name}
			w.create(t, w.configMap(name))
		}
		templates[name], of[name] = w.deployment(t, name, needs...)
		if name == "withheld" { // what it needs of another namespace is not granted
			change(t, w, templates[name], func(u *unstructured.Unstructured) { u.SetAnnotations(map[string]string{"class": w.namespace}) })
		}
		w.see(t, templates[name], of[name])
	}
	follows := func(name string) func() map[string][]string { return w.attached(t, w.namespace, name+"-configmap") }
	all := func() {
		t.Helper()
		for _, name := range names {
			if name != "none" {
				g.Eventually(follows(name), stagetest.Timeout, stagetest.Poll).Should(HaveKey(name+"-deployment"), name)
			}
		}
	}
	remember := func(hub *remembering) {
		t.Helper()
		for _, name := range names[:len(names)-1] {
			g.Eventually(func() bool {
				hub.says(t, of[name])
				return of[name].Status.DependenciesOf != "" && of[name].Status.DependenciesOf == hub.origin(of[name])
			}, stagetest.Timeout, stagetest.Poll).Should(BeTrue(), name)
		}
	}
	hub := w.remember(t, "v1", names...)
	all()
	remember(hub)
	hub.says(t, of["withheld"])
	g.Expect(of["withheld"].Status.DependenciesOf).To(BeEmpty(), "the list does not say all that it needs")
	hub.stop()

	// started returns how often the stage of a program reads each template when it starts.
	started := func(program string, until ...func(*remembering)) map[string]int {
		t.Helper()
		hub := w.remember(t, program, names...)
		hub.looked(t, names)
		for _, wait := range until {
			wait(hub)
		}
		hub.reconciles.AwaitQuiet(t)
		hub.stop()
		read := map[string]int{}
		for name, requests := range hub.reads {
			if n := requests.Reads(); n > 0 {
				read[name] = n
			}
		}
		return read
	}
	before := w.versionsOf(t, names)
	read := started("v1")
	g.Expect(read).To(Equal(map[string]int{"withheld": 1}), "nothing changed")
	g.Expect(w.versionsOf(t, names)).To(Equal(before), "and nothing is written")

	every := map[string]int{}
	for _, name := range names {
		every[name] = 1
	}
	read = started("v2", remember)
	g.Expect(read).To(Equal(every), "another program may read otherwise")
	read = started("v2")
	g.Expect(read).To(Equal(map[string]int{"withheld": 1}), "the bindings say what that one read")

	change(t, w, of["moved"], func(b *workv1alpha2.ResourceBinding) { b.Spec.Clusters[0].Name = "edge-2" })
	w.create(t, w.configMap("more"))
	w.edit(t, templates["edited"], of["edited"], "more")
	w.see(t, templates["edited"], of["edited"])
	list := func(names ...string) func(*workv1alpha2.ResourceBinding) {
		return func(b *workv1alpha2.ResourceBinding) {
			text := ""
			for _, name := range names {
				text += `,{"apiVersion":"v1","kind":"ConfigMap","namespace":"` + w.namespace + `","name":"` + name + `"}`
			}
			b.Annotations[contract.DependenciesAnnotation] = "[" + text[min(1, len(text)):] + "]"
		}
	}
	forge := func(name string, edit func(*workv1alpha2.ResourceBinding)) {
		change(t, w, of[name], edit)
		stagetest.ChangeStatus(t, w.hub, of[name], func() { of[name].Status.DependenciesOf = hub.as("v2").origin(of[name]) })
	}
	change(t, w, of["shortened"], list())
	forge("forged", list())
	forge("lengthened", list("lengthened", "of-nobody"))
	stagetest.ChangeStatus(t, w.hub, of["lost"], func() { of["lost"].Status.DependenciesOf = "" })
	taken := w.attachedBinding(t, "taken-configmap")
	g.Expect(w.hub.Delete(t.Context(), taken)).To(Succeed())
	g.Expect(client.IgnoreNotFound(w.hub.Patch(t.Context(), taken, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))).To(Succeed())
	differ := map[string]int{"edited": 1, "shortened": 1, "forged": 1, "lengthened": 1, "lost": 1, "taken": 1, "withheld": 1}
	// A hub that stops between reading a template and writing what follows it leaves that to the next one, so the test waits for
	// both.
	read = started("v2", func(hub *remembering) {
		for name := range differ {
			g.Eventually(func() int { return hub.reads[name].Reads() }, stagetest.Timeout, stagetest.Poll).Should(BeNumerically(">", 0), name)
		}
		g.Eventually(follows("more"), stagetest.Timeout, stagetest.Poll).Should(HaveKey("edited-deployment"))
		g.Eventually(follows("edited"), stagetest.Timeout, stagetest.Poll).Should(BeNil())
		g.Eventually(follows("of-nobody"), stagetest.Timeout, stagetest.Poll).Should(BeNil(), "nothing is sent anywhere since a binding says so")
		for _, name := range []string{"same", "shortened", "forged", "lengthened", "lost", "taken"} {
			g.Eventually(follows(name), stagetest.Timeout, stagetest.Poll).Should(Equal(map[string][]string{name + "-deployment": {"edge-1"}}), name)
		}
		g.Eventually(follows("moved"), stagetest.Timeout, stagetest.Poll).Should(Equal(map[string][]string{"moved-deployment": {"edge-2"}}))
	})
	g.Expect(read).To(Equal(differ))
}

// as is the same hub of another program.
func (r *remembering) as(program string) *remembering {
	out := *r
	out.program = program
	return &out
}

// versionsOf tells some bindings apart from what they were.
func (w *world) versionsOf(t *testing.T, names []string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range names {
		out[name] = w.attachedBinding(t, contract.BindingName("Deployment", name)).ResourceVersion
	}
	return out
}
