package binding_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/binding"
	"fairlead.dev/hub/setup"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

// counting counts how often the replicas of an object are set, by its name: once for each cluster for which it is rendered.
type counting struct {
	interpreter.Interpreter

	mu    sync.Mutex
	times map[string]int
}

func (c *counting) ReviseReplicas(ctx context.Context, obj *unstructured.Unstructured, replicas int32) (*unstructured.Unstructured, error) {
	c.mu.Lock()
	c.times[obj.GetNamespace()+"/"+obj.GetName()]++
	c.mu.Unlock()
	return c.Interpreter.ReviseReplicas(ctx, obj, replicas)
}

// run starts the stage of a program, and returns what ends it and says which templates of this world it read, and how many Works it
// rendered of each.
func (w *world) run(t *testing.T, program string) (stop func() (read, rendered map[string]int)) {
	t.Helper()
	g := NewWithT(t)
	var mu sync.Mutex
	reads, kinds := map[string]int{}, &counting{Interpreter: native.New(), times: map[string]int{}}
	cfg := stagetest.Intercept(stagetest.Intercept(w.cluster.Config, w.note), func(req *http.Request) (*http.Response, error) {
		if _, name, ok := strings.Cut(req.URL.Path, "/"+w.namespace+"/deployments/"); ok && req.Method == http.MethodGet {
			mu.Lock()
			reads[name]++
			mu.Unlock()
		}
		return nil, nil
	})
	w.reconciles = &stagetest.Reconciles{}
	mgr := stagetest.Manager(t, cfg, func(o *manager.Options) { o.Cache, o.Client = setup.CacheOptions(nil), setup.ClientOptions() }, w.reconciles.Count)
	g.Expect(kube.Index(t.Context(), mgr.GetCache())).To(Succeed())
	g.Expect(binding.Register(mgr, binding.Deps{
		ExecutionNamespacePrefix: contract.DefaultExecutionNamespacePrefix,
		Interpreter:              kinds, Events: w.events.Record, Clock: clock.RealClock{}, Program: program, Seen: w.seen,
	})).To(Succeed())
	end := stagetest.Run(t, mgr)
	return func() (read, rendered map[string]int) {
		end()
		rendered = map[string]int{}
		for name, times := range kinds.times {
			if own, ok := strings.CutPrefix(name, w.namespace+"/"); ok {
				rendered[own] = times
			}
		}
		return reads, rendered
	}
}

// see has the binding of a template say what it is made of, as the detector does.
func (w *world) see(t *testing.T, template *unstructured.Unstructured, b *workv1alpha2.ResourceBinding) {
	t.Helper()
	NewWithT(t).Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(template), template)).To(Succeed())
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		metav1.SetMetaDataAnnotation(&b.ObjectMeta, contract.TemplateFingerprintAnnotation, bindings.MadeOf(template, ""))
		b.Spec.Resource.ResourceVersion = template.GetResourceVersion()
	})
}

// started returns the templates that a stage of a program reads when it starts, and ends it once it has looked at those of some names.
func (w *world) started(t *testing.T, program string, names []string, until ...func()) map[string]int {
	t.Helper()
	stop := w.run(t, program)
	for _, name := range names {
		key := client.ObjectKey{Namespace: w.namespace, Name: contract.BindingName("Deployment", name)}
		NewWithT(t).Eventually(func() int { return w.reconciles.Succeeded("binding-resourcebinding", key) }, stagetest.Timeout, stagetest.Poll).
			ShouldNot(BeZero(), name)
	}
	for _, wait := range until {
		wait()
	}
	w.reconciles.AwaitQuiet(t)
	read, _ := stop()
	return read
}

// TestStartReadsOnlyChangedTemplates restarts the stage after each input of a rendering was changed while no
// stage ran.
func TestStartReadsOnlyChangedTemplates(t *testing.T) {
	g := NewWithT(t)
	api := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	s := &stage{cluster: api, hub: api.Client(t)}
	w := s.world(t, "a", "b")
	names := []string{"same", "edited", "scaled", "overridden", "suspended", "spoilt", "copied", "moved"}
	templates, of := map[string]*unstructured.Unstructured{}, map[string]*workv1alpha2.ResourceBinding{}
	see := func(name string) { w.see(t, templates[name], of[name]) }
	for _, name := range names {
		templates[name] = builder.MakeDeployment(w.namespace, name).Replicas(2).Obj()
		of[name] = w.create(t, templates[name], "a")
		see(name)
	}
	started := func(program string, until ...func()) map[string]int { return w.started(t, program, names, until...) }
	started("v1")
	g.Expect(w.wrote()).To(Equal(slices.Repeat([]string{http.MethodPost}, len(names))))
	g.Expect(started("v1")).To(BeEmpty(), "nothing changed")
	g.Expect(w.wrote()).To(BeEmpty(), "and nothing is written")
	every := map[string]int{}
	for _, name := range names {
		every[name] = 1
	}
	marks := func() []string {
		var out []string
		for _, name := range names {
			out = append(out, w.work(t, "a", templates[name]).Annotations[contract.RenderedFromAnnotation])
		}
		return out
	}
	before := marks()
	marked := func() {
		for i := range names {
			g.Eventually(func() string { return marks()[i] }, stagetest.Timeout, stagetest.Poll).ShouldNot(Equal(before[i]))
		}
	}
	g.Expect(started("v2", marked)).To(Equal(every), "another program version renders all")
	g.Expect(w.wrote()).To(Equal(slices.Repeat([]string{http.MethodPatch}, len(names))), "the marks are updated")
	g.Expect(started("v2")).To(BeEmpty(), "the next start reads nothing")
	g.Expect(w.wrote()).To(BeEmpty())

	stop := w.run(t, "v2")
	change(t, w, of["same"], func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: w.member("b"), Replicas: 2})
	})
	g.Eventually(func() []string { return w.works(t, contract.WorkName("Deployment", w.namespace, "same")) }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a", "b"}))
	read, rendered := stop()
	g.Expect(read).To(HaveKeyWithValue("same", 1))
	g.Expect(rendered).To(HaveKeyWithValue("same", 1), "only the additional cluster is rendered")
	g.Expect(w.wrote()).To(Equal([]string{http.MethodPost}))
	g.Expect(started("v2")).To(BeEmpty(), "the others are unchanged")

	change(t, w, templates["edited"], image("nginx:2"))
	see("edited")
	change(t, w, of["scaled"], func(b *workv1alpha2.ResourceBinding) { b.Spec.Replicas, b.Spec.Clusters[0].Replicas = 3, 3 })
	g.Expect(w.hub.Create(t.Context(), builder.MakeOverride(w.namespace, "one").Select("apps/v1", "Deployment", "overridden").
		Replace(w.member("a"), "/spec/replicas", 5).Obj())).To(Succeed())
	change(t, w, of["suspended"], func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Suspension = &workv1alpha2.Suspension{Suspension: policyv1alpha1.Suspension{Dispatching: new(true)}}
	})
	change(t, w, w.work(t, "a", templates["spoilt"]), func(work *workv1alpha1.Work) { delete(work.Labels, contract.WorkPermanentIDLabel) })
	change(t, w, w.work(t, "a", templates["copied"]), func(work *workv1alpha1.Work) {
		metav1.SetMetaDataAnnotation(&work.ObjectMeta, contract.ManifestHashAnnotation, "other")
	})
	change(t, w, of["moved"], func(b *workv1alpha2.ResourceBinding) { b.Spec.Clusters[0].Name = w.member("b") })
	delete(every, "same")
	w.wrote()
	g.Expect(started("v2")).To(Equal(every))
	g.Expect(w.work(t, "a", templates["spoilt"]).Labels).To(HaveKey(contract.WorkPermanentIDLabel))
	g.Expect(manifest(t, w.work(t, "a", templates["scaled"]), "spec", "replicas")).To(BeEquivalentTo(3))
	g.Expect(manifest(t, w.work(t, "a", templates["overridden"]), "spec", "replicas")).To(BeEquivalentTo(5))
	g.Expect(started("v2")).To(BeEmpty(), "the marks are right now")
}
