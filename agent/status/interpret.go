package status

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/kube/eventsink"
)

// interpret interprets the new objects of a Work: their status and health. It does not hold the lock, since an answer
// may take time: what is observed meanwhile is queued for the next write. No Work is interpreted concurrently.
func (r *Reporter) interpret(ctx context.Context, name types.NamespacedName, uid types.UID) []eventsink.Event {
	var events []eventsink.Event
	for o, live := range r.fresh(name, uid) {
		status, reflectErr := r.reflected(ctx, live)
		status, cut := bounded(status)
		health, healthErr := r.health(ctx, live)
		events = append(events, r.learn(name, o, live, func(f *facts) []eventsink.Event {
			if reflectErr == nil {
				o.status, o.cut = status, cut // otherwise the last known status stays
			}
			o.health, o.interpreted, o.askAgain = health, true, time.Time{}
			r.explain(o, r.clock.Now())
			if reflectErr != nil || healthErr != nil {
				o.askAgain = r.clock.Now().Add(askAgainAfter)
				r.queue.AddAfter(name, askAgainAfter)
			}
			news := f.tell(live, reflectEvent(live, reflectErr))
			if r.interpreter.Has(live.GroupVersionKind(), interpreter.InterpretHealth) {
				news = append(news, f.tell(live, healthEvent(live, health, healthErr))...)
			}
			return news
		})...)
	}
	return events
}

// fresh returns the observed objects of a Work that were not interpreted yet, and those whose interpretation failed a
// while ago: a missing webhook may be back.
func (r *Reporter) fresh(name types.NamespacedName, uid types.UID) map[*observation]*unstructured.Unstructured {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, ok := r.works[name]
	if !ok || !f.reported || f.uid != uid {
		return nil
	}
	fresh := map[*observation]*unstructured.Unstructured{}
	for _, o := range f.objects {
		switch {
		case o.live != nil:
			fresh[o], o.live = o.live, nil
		case !o.askAgain.IsZero() && !r.clock.Now().Before(o.askAgain):
			fresh[o], o.askAgain = o.last, time.Time{}
		}
	}
	return fresh
}

// learn records the interpretation of an object, unless the object or its Work went away meanwhile. A newer version
// that arrived is still to be interpreted.
func (r *Reporter) learn(
	name types.NamespacedName, o *observation, live *unstructured.Unstructured, take func(*facts) []eventsink.Event,
) []eventsink.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, ok := r.works[name]
	if !ok || f.objects[nameless(identify(live))] != o || o.uid != live.GetUID() {
		return nil
	}
	return take(f)
}

// reflected returns the status of an object for the hub.
func (r *Reporter) reflected(ctx context.Context, live *unstructured.Unstructured) (*runtime.RawExtension, error) {
	if !r.interpreter.Has(live.GroupVersionKind(), interpreter.InterpretStatus) {
		return nil, nil //nolint:nilnil // No status is an answer.
	}
	return r.interpreter.ReflectStatus(ctx, live)
}

// health returns the health of an object: by the rule of its kind, or else by the conventions of kinds without one.
func (r *Reporter) health(ctx context.Context, live *unstructured.Unstructured) (workv1alpha1.ResourceHealth, error) {
	if !r.interpreter.Has(live.GroupVersionKind(), interpreter.InterpretHealth) {
		return interpreter.ConventionalHealth(live), nil
	}
	health, err := r.interpreter.Health(ctx, live)
	if err != nil {
		return workv1alpha1.Unknown, err
	}
	return health, nil
}
