package detector

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/common/kube/edits"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/common/kube/watchset"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/detector/claim"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// stage is a hub that runs only the detector.
type stage struct {
	config    *rest.Config
	client    client.Client
	namespace string
	writes    *recorder
	// seen is what the hub that was started last has seen.
	seen *edits.Seen
	// reconciles are those of that hub.
	reconciles *stagetest.Reconciles
	// stop stops the hub that start started; the end of the test does so, too.
	stop func()
}

// recorder records the writes and events of the stage, as far as they are about one namespace, or about cluster-scoped objects of its name.
// Objects of earlier tests may still be in deletion.
type recorder struct {
	namespace string

	mu      sync.Mutex
	writes  []string
	watches []string
	// reads are the paths of all other requests.
	reads []string
	// conflicts is the number of next changes of bindings that fail with a conflict.
	conflicts int
	events    stagetest.Events
}

// conflict makes the next change of a binding in the namespace fail with a conflict.
func (r *recorder) conflict() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conflicts++
}

// pending returns how many conflicts are left.
func (r *recorder) pending() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.conflicts
}

func (r *recorder) watched(suffix string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, path := range r.watches {
		if strings.HasSuffix(path, suffix) {
			n++
		}
	}
	return n
}

// read returns the number of reads whose path matches.
func (r *recorder) read(holds func(path string) bool) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(r.reads), func(path string) bool { return !holds(path) }))
}

func (r *recorder) emit(e eventsink.Event) {
	switch about := e.Regarding.(type) {
	case *corev1.ObjectReference:
		if about.Namespace != r.namespace && about.Name != r.namespace {
			return
		}
	case metav1.Object:
		if about.GetNamespace() != r.namespace && about.GetName() != r.namespace {
			return
		}
	}
	r.events.Record(e)
}

func (r *recorder) requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.writes...)
}

func (r *recorder) notes(reason string) []string { return r.events.Notes(reason) }

// note records a request, and makes changes of bindings fail while conflicts are left.
func (r *recorder) note(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.conflicts > 0 && req.Method == http.MethodPatch && strings.Contains(req.URL.Path, "/"+r.namespace+"/resourcebindings/"):
		r.conflicts--
		return refuse(req)
	case req.Method != http.MethodGet && strings.Contains(req.URL.Path+"/", "/"+r.namespace+"/"):
		r.writes = append(r.writes, req.Method+" "+req.URL.Path)
	case req.URL.Query().Get("watch") != "":
		r.watches = append(r.watches, req.URL.Path)
	default:
		r.reads = append(r.reads, req.URL.Path)
	}
	return nil, nil
}

// refuse answers with a conflict, as the API server does.
func refuse(req *http.Request) (*http.Response, error) {
	status := apierrors.NewConflict(workv1alpha2.GroupVersion.WithResource("resourcebindings").GroupResource(), "it", errors.New("the object was modified"))
	body, err := json.Marshal(status.Status())
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusConflict, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)), Request: req,
	}, nil
}

// failingReplicas has rules that fail for templates with the annotation "fails".
type failingReplicas struct{ interpreter.Interpreter }

func (f failingReplicas) Replicas(ctx context.Context, template *unstructured.Unstructured) (int32, *workv1alpha2.ReplicaRequirements, error) {
	if why := template.GetAnnotations()["fails"]; why != "" {
		return 0, nil, errors.New(why)
	}
	return f.Interpreter.Replicas(ctx, template)
}

// start runs the stage until the end of the test.
func start(t *testing.T) *stage {
	t.Helper()
	g := NewWithT(t)
	c := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	s := &stage{config: c.Config, client: c.Client(t), namespace: c.Namespace(t)}
	s.writes = &recorder{namespace: s.namespace}
	s.stop = s.run(t, g, c.Config)
	return s
}

// run starts a manager whose cache may be modified, and returns a function that stops it.
func (s *stage) run(t *testing.T, g *WithT, to *rest.Config, change ...func(*cache.Options)) (stop func()) {
	t.Helper()
	watches := &watchset.WatchErrors{}
	s.reconciles = &stagetest.Reconciles{}
	mgr := stagetest.Manager(t, stagetest.Intercept(to, s.writes.note), s.reconciles.Count, func(o *manager.Options) {
		o.Cache.DefaultTransform = cache.TransformStripManagedFields()
		o.Cache.DefaultWatchErrorHandler = watches.Handle
		for _, c := range change {
			c(&o.Cache)
		}
	})
	informers := watchset.NewMetadataInformers(mgr.GetCache())
	s.seen = edits.NewSeen(clock.RealClock{})
	watches.OnRemoved(func(ctx context.Context) { go func() { _ = informers.DropUnserved(ctx, mgr.GetAPIReader()) }() })
	g.Expect(Register(mgr, Deps{
		Exclusions:  selector.NewExclusions(contract.DefaultExecutionNamespacePrefix, []*regexp.Regexp{regexp.MustCompile("kube-.*")}, selector.SkippedKinds{}),
		Interpreter: failingReplicas{native.New()},
		Informers:   informers,
		Seen:        s.seen,
		Events:      s.writes.emit,
		Clock:       clock.RealClock{},
	})).To(Succeed())
	return stagetest.Run(t, mgr)
}

// create creates objects. It waits until the stage has adopted each policy. Otherwise the stage might see a template first, and give it to
// another policy, where it would stay.
func (s *stage) create(t *testing.T, objects ...client.Object) {
	t.Helper()
	g := NewWithT(t)
	for _, obj := range objects {
		g.Expect(s.client.Create(t.Context(), obj)).To(Succeed())
		if p, ok := obj.(policyv1alpha1.Policy); ok {
			g.Eventually(func(g Gomega) {
				live, ok := obj.DeepCopyObject().(client.Object)
				g.Expect(ok).To(BeTrue())
				g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(obj), live)).To(Succeed())
				g.Expect(live.GetFinalizers()).To(ContainElement(finalizerOf(p)))
			}, "1m", "50ms").Should(Succeed())
		}
	}
}

func (s *stage) deployment(name string, replicas int64) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": name, "namespace": s.namespace},
		"spec": map[string]any{
			"replicas": replicas,
			"selector": map[string]any{"matchLabels": map[string]any{"app": name}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": name}},
				"spec": map[string]any{"containers": []any{map[string]any{
					"name": "c", "image": "nginx",
					"resources": map[string]any{"requests": map[string]any{"cpu": "100m"}},
				}}},
			},
		},
	}}
	return u
}

func (s *stage) configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
		Data:       map[string]string{"k": "v"},
	}
}

func (s *stage) policy(name string, selectors ...policyv1alpha1.ResourceSelector) *policyv1alpha1.PropagationPolicy {
	return &policyv1alpha1.PropagationPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
		Spec: policyv1alpha1.PropagationSpec{
			ResourceSelectors: selectors,
			Placement: policyv1alpha1.Placement{
				ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"edge-1"}},
			},
		},
	}
}

func named(apiVersion, kind, name string) policyv1alpha1.ResourceSelector {
	return policyv1alpha1.ResourceSelector{APIVersion: apiVersion, Kind: kind, Name: name}
}

// clusterPolicy creates a ClusterPropagationPolicy that is deleted at the end of the test.
func (s *stage) clusterPolicy(t *testing.T, spec policyv1alpha1.PropagationSpec) {
	t.Helper()
	p := &policyv1alpha1.ClusterPropagationPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: s.namespace},
		Spec:       spec,
	}
	s.create(t, p)
	t.Cleanup(func() {
		// The stage has stopped by now, so nothing else removes the finalizer.
		ctx := context.WithoutCancel(t.Context())
		_ = s.client.Patch(ctx, p, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
		_ = s.client.Delete(ctx, p)
	})
}

func (s *stage) binding(ctx context.Context, name string) (*workv1alpha2.ResourceBinding, error) {
	b := &workv1alpha2.ResourceBinding{}
	err := s.client.Get(ctx, types.NamespacedName{Namespace: s.namespace, Name: name}, b)
	return b, err
}

// eventually waits for a binding that matches.
func (s *stage) eventually(t *testing.T, name string, holds func(Gomega, *workv1alpha2.ResourceBinding)) *workv1alpha2.ResourceBinding {
	t.Helper()
	var b *workv1alpha2.ResourceBinding
	NewWithT(t).Eventually(func(g Gomega) {
		var err error
		b, err = s.binding(t.Context(), name)
		g.Expect(err).NotTo(HaveOccurred())
		holds(g, b)
	}, time.Minute, 50*time.Millisecond).Should(Succeed())
	return b
}

func claimedBy(name string) func(Gomega, *workv1alpha2.ResourceBinding) {
	return func(g Gomega, b *workv1alpha2.ResourceBinding) {
		c, _ := claim.On(b)
		g.Expect(c.Name).To(Equal(name))
	}
}

// settle waits until a canary that was created after everything else has its binding, so that all earlier requests are handled.
func (s *stage) settle(t *testing.T) {
	t.Helper()
	name := fmt.Sprintf("canary-%d", len(s.writes.requests()))
	p := s.policy(name, named("v1", "ConfigMap", name))
	p.Spec.Priority = new(int32(math.MaxInt32)) // so that no other policy gets it
	s.create(t, p, s.configMap(name))
	s.eventually(t, name+"-configmap", claimedBy(name))
}

// looksAt waits until a stage that was started has looked at an object of its first list. It looks at new objects first.
func (s *stage) looksAt(t *testing.T, name string) {
	t.Helper()
	key := client.ObjectKey{Namespace: s.namespace, Name: name}
	NewWithT(t).Eventually(func() int { return s.reconciles.Succeeded("detector", key) }, stagetest.Timeout, stagetest.Poll).ShouldNot(BeZero())
}
