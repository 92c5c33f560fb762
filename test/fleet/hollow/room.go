package hollow

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/common/interpreter"
)

// defaultRoom is the default capacity of a member.
func defaultRoom() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1k"), corev1.ResourceMemory: resource.MustParse("4Ti"), corev1.ResourcePods: resource.MustParse("10k"),
	}
}

// SetRoom sets the sum of what the nodes of a member can allocate.
func (f *Fleet) SetRoom(name string, allocatable corev1.ResourceList) {
	for _, a := range f.named([]string{name}) {
		a.setRoom(allocatable)
	}
}

func (a *agent) setRoom(room corev1.ResourceList) {
	a.mu.Lock()
	a.room = room
	a.mu.Unlock()
	a.fleet.queue.Add(task{agent: a})
}

// asks returns the sum of the resource requests of an object's pods, and the number of pods.
func (f *Fleet) asks(ctx context.Context, manifest *unstructured.Unstructured) (corev1.ResourceList, error) {
	if !f.kinds.Has(manifest.GroupVersionKind(), interpreter.InterpretReplica) {
		return nil, nil
	}
	replicas, each, err := f.kinds.Replicas(ctx, manifest)
	if err != nil || replicas == 0 {
		return nil, err //nolint:wrapcheck // It names the object.
	}
	out := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(int64(replicas), resource.DecimalSI)}
	if each != nil {
		for name, request := range each.ResourceRequest {
			request.Mul(int64(replicas))
			out[name] = request
		}
	}
	return out, nil
}

// use records the resource requests of a Work's pods; nil if the Work is gone. Their sum is reported to the hub at
// Options.StatusInterval.
func (a *agent) use(work string, asks corev1.ResourceList) {
	a.mu.Lock()
	if known := a.works[work]; known == nil || !known.DeletionTimestamp.IsZero() {
		asks = nil // the Work was deleted while its report was made
	}
	same := equality.Semantic.DeepEqual(a.used[work], asks)
	delete(a.used, work)
	if len(asks) > 0 {
		a.used[work] = asks
	}
	a.mu.Unlock()
	if !same {
		a.fleet.queue.AddAfter(task{agent: a}, a.fleet.options.StatusInterval)
	}
}

// allocated returns the resource requests of all pods of the member; nil if there are none. The caller holds the lock.
func (a *agent) allocated() corev1.ResourceList {
	var out corev1.ResourceList
	for _, asks := range a.used {
		if out == nil {
			out = corev1.ResourceList{}
		}
		add(out, asks)
	}
	return out
}

// add adds more to sum, keeping the notation of each resource.
func add(sum, more corev1.ResourceList) {
	for name, q := range more {
		total, ok := sum[name]
		if !ok {
			total = q.DeepCopy()
		} else {
			total.Add(q)
		}
		sum[name] = total
	}
}
