package status

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// facts are the newest that is known of one Work.
type facts struct {
	// reported says that the Work itself was reported; before, only objects were seen.
	reported   bool
	uid        types.UID
	generation int64
	conditions []metav1.Condition
	manifests  []workv1alpha1.ResourceIdentifier
	objects    map[workv1alpha1.ResourceIdentifier]*observation
	// drift are the corrected changes that were not reported yet, the oldest first.
	drift []workv1alpha1.Drift
	// changed says that something is new since the last write.
	changed bool
	// unsentSince is since when the hub does not have the latest; zero if it has.
	unsentSince time.Time
	// unseen is since when a change in the member waits to be written; zero if none does.
	unseen time.Time
	// written is the status that the agent wrote to the hub last.
	written struct {
		status          workv1alpha1.WorkStatus
		resourceVersion string
		at              time.Time
		// inRow is how many writes were made in a row before the last.
		inRow int
	}
	// sending is the status of the write that is under way; nil if none is.
	sending *workv1alpha1.WorkStatus
	// lastNotes has the notes of the last events, by the object and reason that they are about.
	lastNotes map[string]string
}

// observation is one object as it was observed in the member.
type observation struct {
	uid             types.UID
	resourceVersion string
	// live is set until it was interpreted; last stays, for when kinds mean something else. Neither is set of one that cannot be seen now.
	live, last *unstructured.Unstructured
	// status and health are what it was interpreted as, if it was.
	interpreted bool
	status      *runtime.RawExtension
	health      workv1alpha1.ResourceHealth
	// unready are why pods of it are not ready.
	unready unready
	// cut says that the status is without what was nested too deep.
	cut bool
	// askAgain is when to ask again if there was no answer.
	askAgain time.Time
}

func newFacts() *facts {
	return &facts{objects: map[workv1alpha1.ResourceIdentifier]*observation{}, lastNotes: map[string]string{}}
}

// report takes over what came of the Work. A Work of the same name that is another one
// begins anew, but what was seen of objects may already be its own.
func (f *facts) report(work *workv1alpha1.Work, conditions []metav1.Condition, manifests []workv1alpha1.ResourceIdentifier) {
	if f.uid != work.UID {
		objects, drift := f.objects, f.drift
		*f = *newFacts()
		f.objects, f.drift = objects, drift
		f.uid = work.UID
	}
	// Whether the hub has it already is for the write to say.
	f.reported, f.changed = true, true
	f.generation = work.Generation
	for _, condition := range conditions {
		condition.ObservedGeneration = work.Generation
		i := slices.IndexFunc(f.conditions, func(c metav1.Condition) bool { return c.Type == condition.Type })
		if i < 0 {
			f.conditions = append(f.conditions, condition)
		} else {
			f.conditions[i] = condition
		}
	}
	f.manifests = manifests
	for id := range f.objects {
		if !slices.ContainsFunc(manifests, func(m workv1alpha1.ResourceIdentifier) bool { return nameless(m) == id }) {
			delete(f.objects, id)
		}
	}
}

// observe takes over an object, unless a newer version of it is known.
func (f *facts) observe(id workv1alpha1.ResourceIdentifier, live *unstructured.Unstructured) {
	id = nameless(id)
	known, ok := f.objects[id]
	version := live.GetResourceVersion()
	if ok && known.uid == live.GetUID() && (version == known.resourceVersion || contract.Older(version, known.resourceVersion)) {
		return
	}
	if !ok {
		known = &observation{}
		f.objects[id] = known
	}
	known.uid, known.resourceVersion, known.live = live.GetUID(), version, live
	known.last = live
	f.changed = true
}

// share has an object of the cache in the place of the same version of it that answered our apply: what the cache keeps
// anyway takes no memory.
func (f *facts) share(id workv1alpha1.ResourceIdentifier, cached *unstructured.Unstructured) {
	known, ok := f.objects[nameless(id)]
	if !ok || known.uid != cached.GetUID() || known.resourceVersion != cached.GetResourceVersion() {
		return
	}
	if known.live != nil {
		known.live = cached
	}
	known.last = cached
}

// lose takes an object for Unknown, since what was seen of it may be of any age. An answer about it that is on its way does not count any more.
func (f *facts) lose(id workv1alpha1.ResourceIdentifier) {
	id = nameless(id)
	known, ok := f.objects[id]
	if ok && known.last == nil {
		return
	}
	lost := &observation{interpreted: true, health: workv1alpha1.Unknown}
	if ok { // otherwise nothing was seen of it since the agent started
		lost.uid = known.uid
	}
	f.objects[id] = lost
	f.changed = true
}

// gone drops an object, unless another one of its name was seen since.
func (f *facts) gone(id workv1alpha1.ResourceIdentifier, uid types.UID) {
	id = nameless(id)
	if known, ok := f.objects[id]; ok && known.uid == uid {
		delete(f.objects, id)
		f.changed = true
	}
}

// differs says whether the hub shows another status of the Work than the one that it has
// from us.
func (f *facts) differs(work *workv1alpha1.Work) bool {
	switch {
	case !f.reported, f.written.resourceVersion == "", f.written.resourceVersion == work.ResourceVersion:
		return false
	case f.sending != nil && sameStatus(&work.Status, f.sending):
		return false
	default:
		return !sameStatus(&work.Status, &f.written.status)
	}
}

// nameless returns an identifier without what an object does not know of itself: its
// place in the Work.
func nameless(id workv1alpha1.ResourceIdentifier) workv1alpha1.ResourceIdentifier {
	id.Ordinal = 0
	return id
}

// identify returns the identifier of an object, without its place in the Work.
func identify(obj *unstructured.Unstructured) workv1alpha1.ResourceIdentifier {
	gvk := obj.GroupVersionKind()
	return workv1alpha1.ResourceIdentifier{
		Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName(),
	}
}

// sameStatus says whether two statuses say the same, whenever they were reported. The reasons
// of pods do not count: a hub of before them drops them, and would be told without end.
func sameStatus(a, b *workv1alpha1.WorkStatus) bool {
	return sameConditions(a.Conditions, b.Conditions) && sameManifests(a.ManifestStatuses, b.ManifestStatuses) &&
		a.ObservedGeneration == b.ObservedGeneration && equality.Semantic.DeepEqual(a.Drift, b.Drift)
}

func sameConditions(a, b []metav1.Condition) bool { return equality.Semantic.DeepEqual(a, b) }

func sameManifests(a, b []workv1alpha1.ManifestStatus) bool {
	return slices.EqualFunc(a, b, func(x, y workv1alpha1.ManifestStatus) bool {
		return x.Identifier == y.Identifier && x.Health == y.Health && sameJSON(x.Status, y.Status)
	})
}

// sameJSON compares two documents, however they are written.
func sameJSON(a, b *runtime.RawExtension) bool {
	if a == nil || b == nil {
		return a == b
	}
	if string(a.Raw) == string(b.Raw) {
		return true
	}
	var x, y any
	if json.Unmarshal(a.Raw, &x) != nil || json.Unmarshal(b.Raw, &y) != nil {
		return false
	}
	return equality.Semantic.DeepEqual(x, y)
}
