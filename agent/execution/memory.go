package execution

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/agent/execution/plan"
	"fairlead.dev/common/contract"
)

// memory holds the records of what was applied, by object and by Work. It is lost with the process; then every Work
// is applied once more.
type memory struct {
	mu      sync.Mutex
	objects map[plan.Object]*object
	works   map[types.NamespacedName]*work
	// retained are the kinds with fields that were taken over from the member.
	retained map[schema.GroupVersionKind]struct{}
}

// work is what is known about one Work.
type work struct {
	generation int64
	objects    []plan.Object
	// looked says that it was reconciled completely at least once.
	looked bool
	// lastLogged is the last log message about it.
	lastLogged string
	// answers are the member's last answers about the manifests of this generation, by ordinal.
	answers map[int]answer
}

// answer is the result of a manifest when the member last answered.
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

// Retained records that fields of the objects of a kind are taken over from the member.
func (m *memory) Retained(kind schema.GroupVersionKind) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.retained[kind] = struct{}{}
}

// Invalidate drops the records of kinds whose Retain rules changed, if fields are or were taken over from the member,
// and returns the Works that contain them.
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

// Newest returns the recorded object that changed last, and its resourceVersion; empty if there is none.
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

// Begin records the objects of a Work, drops those that it had before, and returns whether this generation of the
// Work is new, and whether it dropped an object. A restored hub assigns a generation a second time, so dropping an
// object also makes it new.
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
	fresh = w.generation != generation || dropped
	w.generation = generation
	if fresh {
		w.answers = nil
	}
	return fresh, dropped
}

// MayHave returns whether a Work contains an object, in any API version, as far as known: a Work that was not
// reconciled yet may.
func (m *memory) MayHave(name types.NamespacedName, object plan.Object) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, ok := m.works[name]
	return !ok || slices.ContainsFunc(w.objects, func(o plan.Object) bool {
		return o.GroupKind() == object.GroupKind() && o.NamespacedName == object.NamespacedName
	})
}

// NoteLooked records that a Work was reconciled completely, so that its kinds are watched as far as possible.
func (m *memory) NoteLooked(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if w, ok := m.works[name]; ok {
		w.looked = true
	}
}

// IsLooked returns whether NoteLooked was called for a Work.
func (m *memory) IsLooked(name types.NamespacedName) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, ok := m.works[name]
	return ok && w.looked
}

// Forget drops everything about a Work. It returns whether there was anything.
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

// track records that one more Work contains an object.
func (m *memory) track(name plan.Object) {
	o := m.objects[name]
	if o == nil {
		o = &object{}
		m.objects[name] = o
	}
	o.works++
}

// untrack records that a Work no longer contains an object, and drops the object if it was the last.
func (m *memory) untrack(name plan.Object) {
	o, ok := m.objects[name]
	if !ok {
		return
	}
	if o.works--; o.works == 0 {
		delete(m.objects, name)
	}
}

// Known records the outcomes of a Work's manifests, and returns them as far as known: where the member did not answer
// now, its previous answer or, if it has not answered since the agent started, what the hub was told.
func (m *memory) Known(name types.NamespacedName, outcomes []plan.Outcome, told func() map[int]plan.Outcome) []plan.Outcome {
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
	told = sync.OnceValue(told)
	for i, o := range out {
		before, known := w.answers[o.Ordinal]
		switch {
		case o.Result != plan.Unanswered:
			w.answers[o.Ordinal] = answer{o.Result, o.Message}
		case known:
			out[i].Result, out[i].Message = before.result, before.message
		default:
			if last, known := told()[o.Ordinal]; known {
				out[i].Result, out[i].Message = last.Result, last.Message
			}
		}
	}
	return out
}

// NoteLogged records a log message about a Work, and returns whether it is new.
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
