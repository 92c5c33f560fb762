package pods

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

func now() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) }

// podOf returns a pod of the ReplicaSet owner, with one container.
func podOf(name, owner string, state corev1.ContainerStatus) *corev1.Pod {
	state.Name = "web"
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, Labels: map[string]string{"app": "web"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: owner, UID: types.UID("uid of " + owner), Controller: new(true)}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &metav1.Time{Time: now()}, ContainerStatuses: []corev1.ContainerStatus{state}},
	}
}

func deployment(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"namespace": "shop", "name": name, "uid": "uid of " + name},
		"spec":     map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}},
	}}
}

// reasonsFor returns the reasons, without whether the pods were read.
func reasonsFor(store *Store, workload *unstructured.Unstructured) []workv1alpha1.PodReason {
	reasons, _ := store.Of(workload)
	return reasons
}

func waiting(reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
}

func ended(code int32, reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message}}
}

func TestWhyAPodIsNotReady(t *testing.T) {
	t.Parallel()
	const secret = "password=hunter2"
	crashing := waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container")
	crashing.RestartCount, crashing.LastTerminationState = 7, ended(137, "OOMKilled", secret)
	cases := map[string]struct {
		change func(*corev1.Pod)
		state  corev1.ContainerStatus
		after  time.Duration
		want   []workv1alpha1.PodReason
	}{
		"it runs and is ready": {state: corev1.ContainerStatus{Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}},
		"it crashes again and again, and for how long it waits is no news": {
			state: crashing,
			want:  []workv1alpha1.PodReason{{Reason: "CrashLoopBackOff", Container: "web", Terminated: "OOMKilled", ExitCode: new(int32(137)), Restarts: 7}},
		},
		"it has just ended, and what it wrote stays in the member": {
			state: corev1.ContainerStatus{State: ended(1, "Error", secret), RestartCount: 1},
			want:  []workv1alpha1.PodReason{{Reason: "Error", Container: "web", Terminated: "Error", ExitCode: new(int32(1)), Restarts: 1}},
		},
		"it ended well": {state: corev1.ContainerStatus{State: ended(0, "Completed", "")}},
		"its image is not there": {
			state: waiting("ImagePullBackOff", `Back-off pulling image "shop/web:9"`),
			want:  []workv1alpha1.PodReason{{Reason: "ImagePullBackOff", Container: "web", Message: `Back-off pulling image "shop/web:9"`}},
		},
		"a message without end is cut": {
			state: waiting("ErrImagePull", strings.Repeat("x", 1000)),
			want:  []workv1alpha1.PodReason{{Reason: "ErrImagePull", Container: "web", Message: strings.Repeat("x", 252) + " …"}},
		},
		"it is about to start": {state: waiting("ContainerCreating", "")},
		"it is about to start for long": {
			state: waiting("ContainerCreating", ""), after: settling,
			want: []workv1alpha1.PodReason{{Reason: "ContainerCreating", Container: "web"}},
		},
		"it has just begun to run": {state: corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Time{Time: now()}}}}},
		"it runs and does not become ready": {
			state: corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Time{Time: now()}}}}, after: settling,
			want: []workv1alpha1.PodReason{{Reason: "ContainerNotReady", Container: "web"}},
		},
		"no node takes it": {
			change: func(p *corev1.Pod) {
				p.Status.ContainerStatuses = nil
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available: 3 Insufficient cpu."}}
			},
			want: []workv1alpha1.PodReason{{Reason: "Unschedulable", Message: "0/3 nodes are available: 3 Insufficient cpu."}},
		},
		"it was evicted": {
			change: func(p *corev1.Pod) {
				p.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory."}
			},
			want: []workv1alpha1.PodReason{{Reason: "Evicted", Message: "The node was low on resource: memory."}},
		},
		"its init container fails, and the others wait for that": {
			change: func(p *corev1.Pod) {
				s := ended(2, "Error", secret)
				p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "migrate", State: s}}
			},
			state: waiting("PodInitializing", ""),
			want:  []workv1alpha1.PodReason{{Reason: "Error", Container: "migrate", Terminated: "Error", ExitCode: new(int32(2))}},
		},
		"it is going away": {change: func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: now()} }, state: crashing},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			clock := clocktesting.NewFakePassiveClock(now())
			store := New(clock)
			_, known := store.Of(deployment("web"))
			g.Expect(known).To(BeFalse(), "nothing was read yet")
			store.Replace(NewList())
			p := podOf("web-7d4-x1", "web-7d4", c.state)
			if c.change != nil {
				c.change(p)
			}
			store.Put(p)
			clock.SetTime(now().Add(c.after))
			for i := range c.want {
				c.want[i].Pod, c.want[i].Pods = p.Name, 1
			}
			reasons, known := store.Of(deployment("web"))
			g.Expect(known).To(BeTrue())
			g.Expect(reasons).To(ConsistOf(c.want))
			g.Expect(fmt.Sprint(store.list.pods)).NotTo(ContainSubstring(secret))
		})
	}
}

func TestManyPodsAreOneReason(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	store := New(clocktesting.NewFakePassiveClock(now()))
	store.Replace(NewList())
	for i := range 3 {
		s := waiting("CrashLoopBackOff", "")
		s.RestartCount = int32(i)
		store.Put(podOf(fmt.Sprintf("web-7d4-%d", 9-i), "web-7d4", s))
	}
	for i := range 6 {
		store.Put(podOf(fmt.Sprintf("web-7d4-b%d", i), "web-7d4", waiting(fmt.Sprintf("Reason%d", i), "")))
	}
	reasons := reasonsFor(store, deployment("web"))
	g.Expect(reasons).To(HaveLen(workv1alpha1.MaxPodReasons))
	g.Expect(reasons[0]).To(Equal(workv1alpha1.PodReason{Reason: "CrashLoopBackOff", Container: "web", Pods: 3, Restarts: 2, Pod: "web-7d4-7"}))

	store.Put(podOf("web-7d4-9", "web-7d4", corev1.ContainerStatus{Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}))
	store.Drop(podOf("web-7d4-8", "web-7d4", corev1.ContainerStatus{}))
	g.Expect(reasonsFor(store, deployment("web"))).To(ContainElement(workv1alpha1.PodReason{Reason: "CrashLoopBackOff", Container: "web", Pods: 1, Restarts: 2, Pod: "web-7d4-7"}))
	store.Replace(NewList())
	g.Expect(reasonsFor(store, deployment("web"))).To(BeEmpty())
	g.Expect(store.list.kept).To(BeZero())
}

// TestAWorkloadTellsOfItsOwnPodsOnly covers a hub that writes a selector that matches everything.
func TestAWorkloadTellsOfItsOwnPodsOnly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	store := New(clocktesting.NewFakePassiveClock(now()))
	store.Replace(NewList())
	bad := waiting("ErrImagePull", "of somebody else")
	bare := podOf("bare", "", bad)
	bare.OwnerReferences = nil
	other := podOf("web-7d4-x1", "web-7d4", bad)
	other.Namespace = "bank"
	unselected := podOf("web-7d4-x2", "web-7d4", bad)
	unselected.Labels = nil
	for _, p := range []*corev1.Pod{bare, other, unselected, podOf("web-api-5f-x1", "web-api-5f", bad), podOf("db-0", "db", bad)} {
		store.Put(p)
	}
	everything := deployment("web")
	g.Expect(unstructured.SetNestedMap(everything.Object, map[string]any{}, "spec", "selector")).To(Succeed())
	g.Expect(reasonsFor(store, everything)).To(BeEmpty())
	g.Expect(reasonsFor(store, deployment("web"))).To(BeEmpty())

	for _, owned := range []*unstructured.Unstructured{deployment("web-api"), deployment("db")} {
		g.Expect(reasonsFor(store, owned)).To(HaveLen(1), owned.GetName())
	}
	one := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"namespace": "shop", "name": "bare"}}}
	g.Expect(reasonsFor(store, one)).To(HaveLen(1), "a pod that was sent itself")
}

func TestAMemberOfManyBrokenPodsTakesNoMoreMemory(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	list := NewList()
	for i := range maxPods + 100 {
		list.Put(podOf(fmt.Sprintf("web-7d4-%d", i), "web-7d4", waiting("ErrImagePull", "")))
	}
	g.Expect(list.kept).To(Equal(maxPods))
	g.Expect(list.pods["shop"]).To(HaveLen(maxPods))
	for i := range maxPods + 100 {
		list.Drop(podOf(fmt.Sprintf("web-7d4-%d", i), "", corev1.ContainerStatus{}))
	}
	g.Expect(list.pods).To(BeEmpty())
}
