package detector

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// priorityLasts is how long the value of a PriorityClass is cached. The value never changes, but the class may be deleted and created again
// with another one.
const priorityLasts = time.Minute

// priorities caches the values of the PriorityClasses that policies name, because after a start the class is looked up for every template.
// The zero value is an empty cache. It is safe for concurrent use.
type priorities struct {
	mu     sync.Mutex
	values map[string]priorityOf
}

// priorityOf is the value of a class, and when it was read.
type priorityOf struct {
	value int32
	read  time.Time
}

func (p *priorities) get(class string, now time.Time) (int32, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.values[class]
	age := now.Sub(known.read)
	return known.value, ok && age >= 0 && age < priorityLasts
}

func (p *priorities) set(class string, value int32, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.values == nil {
		p.values = map[string]priorityOf{}
	}
	p.values[class] = priorityOf{value: value, read: now}
}

// priority returns the value of the PriorityClass that a policy names, or nil if it names none; and the name of the class if the hub has no
// such class. That a class is missing is not cached, so that it takes effect at once when it is created.
func (r *Reconciler) priority(ctx context.Context, p policyv1alpha1.Policy) (value *int32, missing string, err error) {
	named := p.PropagationSpec().SchedulePriority
	if named == nil {
		return nil, "", nil
	}
	now := r.clock.Now()
	if known, ok := r.priorities.get(named.PriorityClassName, now); ok {
		return &known, "", nil
	}
	class := &unstructured.Unstructured{}
	class.SetGroupVersionKind(schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"})
	err = r.liveReader.Get(ctx, types.NamespacedName{Name: named.PriorityClassName}, class)
	switch {
	case apierrors.IsNotFound(err):
		return nil, named.PriorityClassName, nil
	case err != nil:
		return nil, "", fmt.Errorf("reading PriorityClass %q: %w", named.PriorityClassName, err)
	}
	found, _, err := unstructured.NestedInt64(class.Object, "value")
	if err != nil {
		return nil, "", fmt.Errorf("reading PriorityClass %q: %w", named.PriorityClassName, err)
	}
	r.priorities.set(named.PriorityClassName, int32(found), now)
	return new(int32(found)), "", nil
}
