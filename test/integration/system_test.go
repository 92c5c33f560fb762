package integration

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/rand"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

// Timeouts for a machine that does other work too, and how long nothing may happen to count as quiet.
const (
	waitTimeout = time.Minute
	quiet       = 2 * time.Second
	poll        = 100 * time.Millisecond
)

func TestMain(m *testing.M) { cluster.Main(m) }

func eventually(t *testing.T, check func(g Gomega)) {
	t.Helper()
	NewWithT(t).Eventually(check).WithTimeout(waitTimeout).WithPolling(poll).Should(Succeed())
}

// system is a hub with its members and their agents.
type system struct {
	hub     *cluster.Cluster
	members []*cluster.Cluster
	// registry has the hub's own metrics, because several hubs run in this process.
	registry *prometheus.Registry

	mu      sync.Mutex
	running map[string]running
}

// running is the hub or an agent.
type running struct {
	cancel context.CancelFunc
	done   chan error
}

const hubName = "hub"

// kept is a system that several tests share; the first one starts it.
type kept struct {
	sync.Mutex
	system *system
}

var all, stopped kept

// shared returns the system for tests that do not stop anything.
func shared(t *testing.T) *system {
	t.Helper()
	all.Lock()
	defer all.Unlock()
	return all.get(t, "", cluster.Options{Profile: cluster.Member, Name: "edge-1", Nodes: 2}, cluster.Options{Profile: cluster.Member, Name: "edge-2", Nodes: 2})
}

// exclusive returns a system with three members, shop-1 to shop-3, that no other test uses until this one ends: it may
// stop parts, but must restart them. Pods run in shop-1 and shop-2.
func exclusive(t *testing.T) *system {
	t.Helper()
	stopped.Lock()
	t.Cleanup(stopped.Unlock)
	return stopped.get(t, "-alone", oneNode(), cluster.Options{Profile: cluster.Member, Name: "shop-2"}, noNodes())
}

// oneNode is shop-1. Tests without a hub use it as well, in namespaces unknown to any hub.
func oneNode() cluster.Options { return cluster.Options{Profile: cluster.Member, Name: "shop-1"} }

// noNodes is shop-3, which stores objects and has no controllers that write statuses; other tests use it likewise.
func noNodes() cluster.Options { return cluster.Options{Profile: cluster.Hub, Name: "shop-3"} }

// get starts a system with these members if it is not running. No other system may use the same member options and hub
// suffix, because it would share their control planes.
func (k *kept) get(t *testing.T, suffix string, members ...cluster.Options) *system {
	t.Helper()
	if k.system != nil {
		return k.system
	}
	s := &system{hub: cluster.Shared(t, cluster.Options{Profile: cluster.Hub, Name: hubName + suffix})}
	for _, m := range members {
		s.members = append(s.members, cluster.Shared(t, m))
	}
	// The system outlives the test that starts it.
	s.start(context.WithoutCancel(t.Context()), t)
	k.system = s
	return s
}

// start starts the hub and all agents, and waits until the clusters are Ready.
func (s *system) start(ctx context.Context, t *testing.T) {
	t.Helper()
	s.running = map[string]running{}
	s.registry = prometheus.NewRegistry()
	s.startHub(ctx, t)
	for _, member := range s.members {
		s.startAgent(ctx, t, member.Name)
	}
	s.awaitReady(t)
}

func (s *system) run(ctx context.Context, name string, f func(context.Context) error) {
	ctx, cancel := context.WithCancel(ctx)
	r := running{cancel: cancel, done: make(chan error, 1)}
	s.mu.Lock()
	s.running[name] = r
	s.mu.Unlock()
	go func() {
		err := f(ctx)
		if err != nil && ctx.Err() == nil {
			fmt.Fprintf(os.Stderr, "%s stopped by itself: %v\n", name, err)
		}
		r.done <- err
	}()
}

// stop stops the hub or an agent as a signal would.
func (s *system) stop(t *testing.T, name string) {
	t.Helper()
	s.mu.Lock()
	r, ok := s.running[name]
	delete(s.running, name)
	s.mu.Unlock()
	if !ok {
		t.Fatalf("%s is not running", name)
	}
	r.cancel()
	select {
	case err := <-r.done:
		if err != nil {
			t.Errorf("stopping %s: %v", name, err)
		}
	case <-time.After(stagetest.ShutdownTimeout + waitTimeout):
		t.Fatalf("%s does not stop", name)
	}
}

func (s *system) member(name string) *cluster.Cluster {
	for _, m := range s.members {
		if m.Name == name {
			return m
		}
	}
	panic("no member " + name) // a mistake in the test
}

// namespace creates a namespace on the hub; it is propagated with its contents.
func (s *system) namespace(t *testing.T) string {
	t.Helper()
	name := "test-" + rand.String(8)
	if err := s.hub.Client(t).Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		t.Fatalf("making namespace %q: %v", name, err)
	}
	return name
}

// create creates objects on the hub.
func (s *system) create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, obj := range objects {
		if err := s.hub.Client(t).Create(t.Context(), obj); err != nil {
			t.Fatalf("creating %T %q: %v", obj, obj.GetName(), err)
		}
	}
}

// update changes an object on the hub.
func (s *system) update(t *testing.T, obj *unstructured.Unstructured, change func(*unstructured.Unstructured)) {
	t.Helper()
	live := like(obj)
	if err := s.hub.Client(t).Get(t.Context(), client.ObjectKeyFromObject(obj), live); err != nil {
		t.Fatalf("reading %q: %v", obj.GetName(), err)
	}
	before := live.DeepCopy()
	change(live)
	if err := s.hub.Client(t).Patch(t.Context(), live, client.MergeFrom(before)); err != nil {
		t.Fatalf("changing %q: %v", obj.GetName(), err)
	}
}

func like(obj *unstructured.Unstructured) *unstructured.Unstructured {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(obj.GroupVersionKind())
	return live
}

// get reads an object from a cluster.
func (s *system) get(t *testing.T, c *cluster.Cluster, obj *unstructured.Unstructured) error {
	t.Helper()
	return c.Client(t).Get(t.Context(), client.ObjectKeyFromObject(obj), like(obj))
}

func (s *system) read(t *testing.T, g Gomega, c *cluster.Cluster, obj *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	live := like(obj)
	g.Expect(c.Client(t).Get(t.Context(), client.ObjectKeyFromObject(obj), live)).To(Succeed())
	return live
}

// inMember returns the object of a template in a member.
func (s *system) inMember(t *testing.T, g Gomega, name string, template *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	return s.read(t, g, s.member(name), template)
}

// onHub returns the template on the hub.
func (s *system) onHub(t *testing.T, g Gomega, template *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	return s.read(t, g, s.hub, template)
}

// binding returns the binding of a template.
func (s *system) binding(t *testing.T, g Gomega, template *unstructured.Unstructured) *workv1alpha2.ResourceBinding {
	t.Helper()
	binding := &workv1alpha2.ResourceBinding{}
	key := client.ObjectKey{Namespace: template.GetNamespace(), Name: contract.BindingName(template.GetKind(), template.GetName())}
	g.Expect(s.hub.Client(t).Get(t.Context(), key, binding)).To(Succeed())
	return binding
}

// work returns the Work of a template for a member.
func (s *system) work(t *testing.T, g Gomega, member string, template *unstructured.Unstructured) *workv1alpha1.Work {
	t.Helper()
	work := &workv1alpha1.Work{}
	key := client.ObjectKey{
		Namespace: contract.ExecutionNamespace(contract.DefaultExecutionNamespacePrefix, member),
		Name:      contract.WorkName(template.GetKind(), template.GetNamespace(), template.GetName()),
	}
	g.Expect(s.hub.Client(t).Get(t.Context(), key, work)).To(Succeed())
	return work
}

// works returns the Works of a binding for a member.
func (s *system) works(t *testing.T, g Gomega, member string, binding *workv1alpha2.ResourceBinding) []workv1alpha1.Work {
	t.Helper()
	var list workv1alpha1.WorkList
	g.Expect(s.hub.Client(t).List(t.Context(), &list,
		client.InNamespace(contract.ExecutionNamespace(contract.DefaultExecutionNamespacePrefix, member)),
		client.MatchingLabels{contract.ResourceBindingPermanentIDLabel: bindings.IDOf(binding)})).To(Succeed())
	return list.Items
}

func (s *system) events(t *testing.T, g Gomega, namespace string) []eventsv1.Event {
	t.Helper()
	var list eventsv1.EventList
	g.Expect(s.hub.Client(t).List(t.Context(), &list, client.InNamespace(namespace))).To(Succeed())
	return list.Items
}

// eventReasons returns the reasons of the events about a template.
func (s *system) eventReasons(t *testing.T, g Gomega, namespace, name string) []string {
	t.Helper()
	var reasons []string
	for _, e := range s.events(t, g, namespace) {
		if e.Regarding.Name == name {
			reasons = append(reasons, e.Reason)
		}
	}
	return reasons
}

// warnings returns the notes of the warnings about a template and its binding.
func (s *system) warnings(t *testing.T, g Gomega, namespace string, template *unstructured.Unstructured) []string {
	t.Helper()
	var notes []string
	for _, e := range s.events(t, g, namespace) {
		if e.Type == corev1.EventTypeWarning && e.Regarding.Name == template.GetName() && e.Regarding.Kind == template.GetKind() {
			notes = append(notes, e.Note)
		}
	}
	return notes
}
