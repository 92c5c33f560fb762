package clusterstatus

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/clusterstatus/facts"
)

// CacheOptions returns, for the cache of the member's nodes and pods, what to keep of
// them. A member may have thousands of pods, and an agent little memory.
func CacheOptions() map[client.Object]cache.ByObject {
	shared := true
	return map[client.Object]cache.ByObject{
		&corev1.Node{}: {Transform: slimNode, UnsafeDisableDeepCopy: &shared},
		&corev1.Pod{}:  {Transform: slimPod, UnsafeDisableDeepCopy: &shared},
	}
}

// slimNode keeps of a node what it offers and whether it is ready.
func slimNode(obj any) (any, error) {
	node, ok := obj.(*corev1.Node)
	if !ok {
		return obj, nil
	}
	slim := &corev1.Node{
		ObjectMeta: slimMeta(&node.ObjectMeta),
		Status:     corev1.NodeStatus{Allocatable: node.Status.Allocatable},
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			slim.Status.Conditions = []corev1.NodeCondition{{Type: c.Type, Status: c.Status}}
		}
	}
	return slim, nil
}

// slimPod keeps of a pod where it is, whether it is over, and the sum of what it asks
// for.
func slimPod(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	return &corev1.Pod{
		ObjectMeta: slimMeta(&pod.ObjectMeta),
		Spec: corev1.PodSpec{
			NodeName:   pod.Spec.NodeName,
			Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: facts.Request(&pod.Spec)}}},
		},
		Status: corev1.PodStatus{Phase: pod.Status.Phase},
	}, nil
}

func slimMeta(m *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: m.Name, Namespace: m.Namespace, UID: m.UID, ResourceVersion: m.ResourceVersion}
}

// workload watches the nodes and pods of the member.
type workload struct {
	nodes, pods toolscache.SharedIndexInformer
	synced      []<-chan struct{}
	// changed says that there is something new since it was last summed up.
	changed atomic.Bool
}

func newWorkload(ctx context.Context, c cache.Cache) (*workload, error) {
	w := &workload{}
	w.changed.Store(true)
	note := func() { w.changed.Store(true) }
	handler := toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { note() },
		UpdateFunc: func(any, any) { note() },
		DeleteFunc: func(any) { note() },
	}
	for _, watch := range []struct {
		of   client.Object
		into *toolscache.SharedIndexInformer
	}{{&corev1.Node{}, &w.nodes}, {&corev1.Pod{}, &w.pods}} {
		i, err := c.GetInformer(ctx, watch.of, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, fmt.Errorf("watching nodes and pods of the member: %w", err)
		}
		informer, ok := i.(toolscache.SharedIndexInformer)
		if !ok {
			return nil, fmt.Errorf("watching nodes and pods of the member: the informer is a %T, which has no store", i)
		}
		registration, err := informer.AddEventHandler(handler)
		if err != nil {
			return nil, fmt.Errorf("watching nodes and pods of the member: %w", err)
		}
		*watch.into = informer
		w.synced = append(w.synced, registration.HasSyncedChecker().Done())
	}
	return w, nil
}

// Wait gives the watches a moment to begin, and says whether they have.
func (w *workload) Wait(ctx context.Context, c clock.Clock, patience time.Duration) bool {
	over := c.After(patience)
	for _, synced := range w.synced {
		select {
		case <-synced:
			continue
		default:
		}
		select {
		case <-synced:
		case <-over:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// Changed says whether there is something new since the last call.
func (w *workload) Changed() bool { return w.changed.Swap(false) }

// List returns the nodes and pods. They are shared: nobody may change them.
func (w *workload) List() ([]*corev1.Node, []*corev1.Pod) {
	return listOf[*corev1.Node](w.nodes), listOf[*corev1.Pod](w.pods)
}

func listOf[T any](informer toolscache.SharedIndexInformer) []T {
	items := informer.GetStore().List()
	out := make([]T, 0, len(items))
	for _, item := range items {
		if typed, ok := item.(T); ok {
			out = append(out, typed)
		}
	}
	return out
}
