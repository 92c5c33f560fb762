package execution

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/agent/execution/plan"
	"fairlead.dev/common/contract"
)

// memory holds the records of what was applied, by object and by Work. It is lost with
// the process; then every Work is applied once more.
type memory struct {
	mu      sync.Mutex
	objects map[plan.Object]*object
	works   map[types.NamespacedName]*work
	// retained are the kinds of which something was taken over from the member.
	retained map[schema.GroupVersionKind]struct{}
}

// work is what is known of one Work.
type work struct {
	generation int64
	objects    []plan.Object
	// lastLogged is what the log last said about it.
	lastLogged string
	// answers are what the member said last of the manifests of this generation, by their ordinals.
	answers map[int]answer
}

// answer is what came of a manifest when the member last said something of it.
type answer struct {
	result  plan.Result
	message string
}

func newMemory() *memory {
	return &memory{
		objects:  map[plan.Object]*object{},
		works:    map[types.NamespacedName]*work{},
		retained: map[schema.GroupVersionKind]struct{}{},
	}
}

// Retained notes that something of the objects of a kind is taken over from the member.
func (m *memory) Retained(kind schema.GroupVersionKind) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.retained[kind] = struct{}{}
}

// Invalidate forgets how the objects of some kinds are, of which something is, or was, taken
// over from the member, and returns the Works that are about them.
func (m *memory) Invalidate(affects, retains func(schema.GroupVersionKind) bool) []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	invalid := map[schema.GroupVersionKind]bool{}
	var out []types.NamespacedName
	for name, w := range m.works {
		touched := false
		for _, o := range w.objects {
			affected, known := invalid[o.GroupVersionKind]
			if !known {
				_, was := m.retained[o.GroupVersionKind]
				affected = affects(o.GroupVersionKind) && (was || retains(o.GroupVersionKind))
				invalid[o.GroupVersionKind] = affected
			}
			if object := m.objects[o]; affected && object != nil {
				object.record, touched = nil, true
			}
		}
		if touched {
			out = append(out, name)
		}
	}
	return out
}

// Newest returns the object of the records that changed last, and its resourceVersion;
// empty if there are none.
func (m *memory) Newest() (newest plan.Object, resourceVersion string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, o := range m.objects {
		if o.record != nil && (resourceVersion == "" || contract.Older(resourceVersion, o.record.ResourceVersion)) {
			newest, resourceVersion = name, o.record.ResourceVersion
		}
	}
	return newest, resourceVersion
}

// Begin notes which objects a Work is about, forgets those that it was about before, and
// says whether this generation of the Work is new, and whether it dropped an object.
func (m *memory) Begin(name types.NamespacedName, generation int64, objects []plan.Object) (fresh, dropped bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, ok := m.works[name]
	if !ok {
		w = &work{}
		m.works[name] = w
	}
	for _, o := range objects {
		if !slices.Contains(w.objects, o) {
			m.track(o)
		}
	}
	for _, o := range w.objects {
		if !slices.Contains(objects, o) {
			dropped = true
			m.untrack(o)
		}
	}
	w.objects = objects
	fresh = w.generation != generation
	w.generation = generation
	if fresh {
		w.answers = nil
	}
	return fresh, dropped
}

// MayHave says whether a Work is about an object, in whichever version its kind is watched, as far
// as is known: one that was not looked at yet may be.
func (m *memory) MayHave(name types.NamespacedName, object plan.Object) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, ok := m.works[name]
	return !ok || slices.ContainsFunc(w.objects, func(o plan.Object) bool {
		return o.GroupKind() == object.GroupKind() && o.NamespacedName == object.NamespacedName
	})
}

// Forget drops all that is known of a Work. It says whether anything was.
func (m *memory) Forget(name types.NamespacedName) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, ok := m.works[name]
	if !ok {
		return false
	}
	for _, o := range w.objects {
		m.untrack(o)
	}
	delete(m.works, name)
	return true
}

// track notes that one more Work is about an object.
func (m *memory) track(name plan.Object) {
	o := m.objects[name]
	if o == nil {
		o = &object{}
		m.objects[name] = o
	}
	o.works++
}

// untrack notes that a Work is no longer about an object, and forgets the object if it was
// the last.
func (m *memory) untrack(name plan.Object) {
	o, ok := m.objects[name]
	if !ok {
		return
	}
	if o.works--; o.works == 0 {
		delete(m.objects, name)
	}
}

// Known notes what came of the manifests of a Work, and returns it as far as it is known: of those of which the member says nothing now, what
// it said before.
func (m *memory) Known(name types.NamespacedName, outcomes []plan.Outcome) []plan.Outcome {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, ok := m.works[name]
	if !ok {
		return outcomes
	}
	if w.answers == nil {
		w.answers = make(map[int]answer, len(outcomes))
	}
	out := slices.Clone(outcomes)
	for i, o := range out {
		before, known := w.answers[o.Ordinal]
		switch {
		case o.Result != plan.Unanswered:
			w.answers[o.Ordinal] = answer{o.Result, o.Message}
		case known:
			out[i].Result, out[i].Message = before.result, before.message
		}
	}
	return out
}

// NoteLogged notes what the log says of a Work, and whether that is new.
func (m *memory) NoteLogged(name types.NamespacedName, what string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, ok := m.works[name]
	if !ok || w.lastLogged == what {
		return false
	}
	w.lastLogged = what
	return true
}
