package attach

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
)

// Wants remembers which binding needs which objects, so that the bindings that need an object are reconciled when it is created, changed or
// deleted. References are recorded before their objects are looked up, so that no change in between is missed. It is safe for concurrent
// use; the zero value is ready.
type Wants struct {
	mu sync.RWMutex
	// of maps each binding to its references.
	of map[types.NamespacedName][]want
	// byKind has the bindings that need objects of a kind.
	byKind map[schema.GroupVersionKind]map[types.NamespacedName]struct{}
	// byPlace has the bindings that need an object by name, or, under the empty name, by labels.
	byPlace map[place]map[types.NamespacedName]struct{}
}

// place is where an object is looked up.
type place struct {
	kind            schema.GroupVersionKind
	namespace, name string
}

// want is a parsed reference.
type want struct {
	kind            schema.GroupVersionKind
	namespace, name string
	selector        labels.Selector
}

// matches returns whether a reference means an object.
func (w want) matches(obj metav1.Object) bool {
	switch {
	case w.namespace != obj.GetNamespace():
		return false
	case w.name != "":
		return w.name == obj.GetName()
	default:
		return w.selector != nil && w.selector.Matches(labels.Set(obj.GetLabels()))
	}
}

// Set replaces what a binding needs; an empty list forgets the binding.
func (w *Wants) Set(binding types.NamespacedName, refs []configv1alpha1.DependentObjectReference) error {
	wants := make([]want, 0, len(refs))
	for _, ref := range refs {
		read, err := newWant(ref)
		if err != nil {
			return err
		}
		wants = append(wants, read)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of = map[types.NamespacedName][]want{}
		w.byKind = map[schema.GroupVersionKind]map[types.NamespacedName]struct{}{}
		w.byPlace = map[place]map[types.NamespacedName]struct{}{}
	}
	for _, old := range w.of[binding] {
		remove(w.byKind, old.kind, binding)
		remove(w.byPlace, old.place(), binding)
	}
	if len(wants) == 0 {
		delete(w.of, binding)
		return nil
	}
	w.of[binding] = wants
	for _, next := range wants {
		insert(w.byKind, next.kind, binding)
		insert(w.byPlace, next.place(), binding)
	}
	return nil
}

func insert[K comparable](to map[K]map[types.NamespacedName]struct{}, key K, binding types.NamespacedName) {
	if to[key] == nil {
		to[key] = map[types.NamespacedName]struct{}{}
	}
	to[key][binding] = struct{}{}
}

func remove[K comparable](from map[K]map[types.NamespacedName]struct{}, key K, binding types.NamespacedName) {
	delete(from[key], binding)
	if len(from[key]) == 0 {
		delete(from, key)
	}
}

func (w want) place() place { return place{kind: w.kind, namespace: w.namespace, name: w.name} }

func newWant(ref configv1alpha1.DependentObjectReference) (want, error) {
	out := want{kind: schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind), namespace: ref.Namespace, name: ref.Name}
	if ref.Name == "" && ref.LabelSelector != nil {
		selector, err := metav1.LabelSelectorAsSelector(ref.LabelSelector)
		if err != nil {
			return out, err
		}
		out.selector = selector
	}
	return out, nil
}

// By returns, sorted, the bindings that need an object.
func (w *Wants) By(kind schema.GroupVersionKind, obj metav1.Object) []types.NamespacedName {
	w.mu.RLock()
	defer w.mu.RUnlock()
	var out []types.NamespacedName
	at := place{kind: kind, namespace: obj.GetNamespace(), name: obj.GetName()}
	for binding := range w.byPlace[at] {
		out = append(out, binding)
	}
	at.name = ""
	for binding := range w.byPlace[at] {
		if slices.ContainsFunc(w.of[binding], func(wanted want) bool { return wanted.kind == kind && wanted.matches(obj) }) {
			out = append(out, binding)
		}
	}
	slices.SortFunc(out, func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return slices.Compact(out)
}

// At returns, in no order, the bindings that may need an object with a name in this version. References by labels always count.
func (w *Wants) At(kind schema.GroupVersionKind, namespace, name string) []types.NamespacedName {
	w.mu.RLock()
	defer w.mu.RUnlock()
	var out []types.NamespacedName
	for _, named := range []string{name, ""} {
		for binding := range w.byPlace[place{kind: kind, namespace: namespace, name: named}] {
			out = append(out, binding)
		}
	}
	return out
}

// Of returns, in no order, the bindings that need objects of a kind in any version.
func (w *Wants) Of(kind schema.GroupKind) []types.NamespacedName {
	w.mu.RLock()
	defer w.mu.RUnlock()
	out := map[types.NamespacedName]struct{}{}
	for version, by := range w.byKind {
		if version.GroupKind() == kind {
			maps.Copy(out, by)
		}
	}
	return slices.Collect(maps.Keys(out))
}

// Kinds returns, in no order, the kinds that some binding needs.
func (w *Wants) Kinds() []schema.GroupVersionKind {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return slices.Collect(maps.Keys(w.byKind))
}
