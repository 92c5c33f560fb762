package clusterstatus

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/clusterstatus/facts"
	"fairlead.dev/agent/clusterstatus/pods"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// showing is a member with one node and one pod, which is not ready; it may answer with errors instead. Use it in a
// synctest bubble.
type showing struct {
	client.WithWatch

	mu      sync.Mutex
	answers map[string]error
	watches map[string][]*watch.FakeWatcher
}

func (s *showing) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	list.SetResourceVersion("1")
	switch list := list.(type) {
	case *corev1.NodeList:
		node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourcePods: resource.MustParse("110")}
		list.Items = []corev1.Node{node}
		return s.answers["nodes"]
	case *corev1.PodList:
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
		pod.Spec.NodeName = "a"
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "web", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}}
		list.Items = []corev1.Pod{pod}
		return s.answers["pods"]
	}
	return nil
}

func (s *showing) Watch(_ context.Context, list client.ObjectList, _ ...client.ListOption) (watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what := "quotas"
	switch list.(type) {
	case *corev1.NodeList:
		what = "nodes"
	case *corev1.PodList:
		what = "pods"
	}
	if err := s.answers[what]; err != nil {
		return nil, err
	}
	began := watch.NewFake()
	s.watches[what] = append(s.watches[what], began)
	return began, nil
}

// answer ends the watches of a resource and makes its requests fail with an error; nil makes them succeed.
func (s *showing) answer(what string, err error) {
	s.mu.Lock()
	s.answers[what] = err
	watches := s.watches[what]
	s.watches[what] = nil
	s.mu.Unlock()
	for _, w := range watches {
		w.Stop()
	}
}

func TestUnreadableFactsAreNotReportedAsTheyWere(t *testing.T) {
	t.Parallel()
	forbidden := func(what string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: what}, "", errors.New("no such right"))
	}
	for name, tc := range map[string]struct {
		what       string
		answer     error
		notYet     time.Duration
		wantNodes  bool
		wantReason string
	}{
		"nodes that may not be read": {"nodes", forbidden("nodes"), 2 * time.Second, false, clusterv1alpha1.ReasonReadForbidden},
		"pods that may not be read":  {"pods", forbidden("pods"), 2 * time.Second, true, clusterv1alpha1.ReasonReadForbidden},
		"pods that are too much":     {"pods", apierrors.NewTooManyRequests("too busy", 1), 30 * time.Second, true, clusterv1alpha1.ReasonReadFailing},
		"pods that fail to be read":  {"pods", apierrors.NewInternalError(errors.New("no room")), 30 * time.Second, true, clusterv1alpha1.ReasonReadFailing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				member := &showing{answers: map[string]error{}, watches: map[string][]*watch.FakeWatcher{}}
				unready := pods.New(clock.RealClock{})
				pod := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"namespace": "shop", "name": "web"}}}
				whyUnready := func() []workv1alpha1.PodReason {
					reasons, known := unready.Of(pod)
					g.Expect(known).To(BeTrue())
					return reasons
				}
				w := newWorkload(member, unready, clock.RealClock{})
				r := &Reconciler{workload: w, clock: clock.RealClock{}}
				ctx, cancel := context.WithCancel(t.Context())
				var done sync.WaitGroup
				done.Go(func() { _ = w.Start(ctx) })
				defer done.Wait()
				defer cancel()
				cluster := &clusterv1alpha1.Cluster{}
				report := func() *metav1.Condition {
					synctest.Wait()
					seen := observation{whole: true, probe: facts.Probe{Answered: true, Code: 200}}
					seen.nodes, seen.resources = r.sums(ctx, nil)
					seen.unreadReason, seen.unreadMessage = w.Unread()
					setStatus(cluster, seen, metav1.Now())
					return meta.FindStatusCondition(cluster.Status.Conditions, clusterv1alpha1.ClusterCapacityUnknown)
				}
				g.Expect(report()).To(BeNil())
				g.Expect(cluster.Status.NodeSummary.TotalNum).To(Equal(int32(1)))
				g.Expect(cluster.Status.ResourceSummary.Allocated.Pods().Value()).To(Equal(int64(1)))
				g.Expect(whyUnready()).To(HaveLen(1))

				time.Sleep(2 * time.Second) // a watch that ends sooner is followed by a list
				member.answer(tc.what, tc.answer)
				time.Sleep(tc.notYet)
				g.Expect(report()).To(BeNil(), "it may pass")
				g.Expect(cluster.Status.ResourceSummary).NotTo(BeNil())
				time.Sleep(3 * time.Minute)
				unknown := report()
				g.Expect(unknown).NotTo(BeNil())
				g.Expect(unknown.Status).To(Equal(metav1.ConditionTrue))
				g.Expect(unknown.Reason).To(Equal(tc.wantReason))
				g.Expect(unknown.Message).To(ContainSubstring("read " + tc.what))
				g.Expect(cluster.Status.ResourceSummary).To(BeNil())
				g.Expect(cluster.Status.NodeSummary != nil).To(Equal(tc.wantNodes))

				member.answer(tc.what, nil)
				time.Sleep(3 * time.Minute)
				unknown = report()
				g.Expect(unknown.Status).To(Equal(metav1.ConditionFalse))
				g.Expect(whyUnready()).To(ConsistOf(HaveField("Reason", "CrashLoopBackOff")))
				g.Expect(cluster.Status.NodeSummary.TotalNum).To(Equal(int32(1)))
				g.Expect(cluster.Status.ResourceSummary.Allocated.Pods().Value()).To(Equal(int64(1)))
			})
		})
	}
}

// A member that is not ready is told of as such: what fails there until it is ready says nothing of its nodes and pods.
func TestFailuresOfAMemberThatIsNotReadyDoNotCount(t *testing.T) {
	t.Parallel()
	g, now := NewWithT(t), time.Unix(1_000_000, 0)
	u, busy := unread{what: "pods"}, apierrors.NewServiceUnavailable("it starts")
	g.Expect(u.Note(busy, now)).To(BeFalse())
	u.Excuse(now.Add(time.Hour))
	g.Expect(u.Note(busy, now.Add(time.Hour+30*time.Second))).To(BeFalse())
	g.Expect(u.Note(busy, now.Add(time.Hour+failingPatience))).To(BeTrue())
	g.Expect(u.Note(errors.New("no answer"), now.Add(2*time.Hour))).To(BeFalse())
	u.Over()
	g.Expect(u.reason).To(BeEmpty())
	g.Expect(u.Note(errors.New("no answer"), now.Add(3*time.Hour))).To(BeFalse())
	g.Expect(u.Note(apierrors.NewUnauthorized("who is it"), now.Add(4*time.Hour))).To(BeFalse())
	g.Expect(u.since).To(BeZero())
}
