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

// facts are the latest facts about one Work.
type facts struct {
	// reported says that the Work itself was reported; before that, only its objects were seen.
	reported   bool
	uid        types.UID
	generation int64
	conditions []metav1.Condition
	manifests  []workv1alpha1.ResourceIdentifier
	objects    map[workv1alpha1.ResourceIdentifier]*observation
	// silent are the objects about which the member did not answer when last asked.
	silent map[workv1alpha1.ResourceIdentifier]struct{}
	// drift are the corrected changes that were not written yet, oldest first.
	drift []workv1alpha1.Drift
	// changed says that something has changed since the last write.
	changed bool
	// unsentSince is since when the hub lacks the latest facts; zero if it has them.
	unsentSince time.Time
	// unseen is since when a change in the member waits to be written; zero if none does.
	unseen time.Time
	// written is the status that the agent last wrote to the hub.
	written struct {
		status          workv1alpha1.WorkStatus
		resourceVersion string
		at              time.Time
		// inRow is how many writes preceded the last one without a pause.
		inRow int
	}
	// sending is the status of the write in progress; nil if there is none.
	sending *workv1alpha1.WorkStatus
	// lastNotes maps object and action to the note of the last event about them.
	lastNotes map[string]string
}

// observation is an object as it was observed in the member.
type observation struct {
	uid             types.UID
	resourceVersion string
	// live is set until the object was interpreted; last is kept for when the interpreter rules change. Neither is
	// set for an object that cannot be seen now.
	live, last *unstructured.Unstructured
	// status and health are valid if interpreted is set.
	interpreted bool
	status      *runtime.RawExtension
	health      workv1alpha1.ResourceHealth
	// unready are the reasons why its pods are not ready.
	unready unready
	// cut says that deeply nested values were removed from the status.
	cut bool
	// askAgain is when to retry an interpretation that got no answer.
	askAgain time.Time
}

func newFacts() *facts {
	return &facts{objects: map[workv1alpha1.ResourceIdentifier]*observation{}, lastNotes: map[string]string{}}
}

// report records how the Work was applied. For another Work of the same name the facts start over, but observed
// objects are kept, since they may already belong to it.
func (f *facts) report(work *workv1alpha1.Work, conditions []metav1.Condition, manifests []workv1alpha1.ResourceIdentifier) {
	if f.uid != work.UID {
		objects, drift := f.objects, f.drift
		*f = *newFacts()
		f.objects, f.drift = objects, drift
		f.uid = work.UID
	}
	// The write finds out whether the hub has it already.
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

// silence records the manifests about which the member does not answer for now. For an object that was not seen since
// the agent started, the hub keeps its last status then.
func (f *facts) silence(silent []bool) {
	f.silent = map[workv1alpha1.ResourceIdentifier]struct{}{}
	for i, is := range silent {
		if is {
			f.silent[nameless(f.manifests[i])] = struct{}{}
		}
	}
}

// observe records an object, unless a newer version of it is known.
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

// share replaces an object that our apply returned by the same version from the cache, so that it takes no memory of
// its own.
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

// lose marks an object as Unknown, since what was last seen of it may be outdated. It also discards a pending
// interpretation of it.
func (f *facts) lose(id workv1alpha1.ResourceIdentifier) {
	id = nameless(id)
	known, ok := f.objects[id]
	if ok && known.last == nil {
		return
	}
	lost := &observation{interpreted: true, health: workv1alpha1.Unknown}
	if ok { // otherwise it was not seen since the agent started
		lost.uid = known.uid
	}
	f.objects[id] = lost
	f.changed = true
}

// gone removes an object, unless another one of its name was seen since.
func (f *facts) gone(id workv1alpha1.ResourceIdentifier, uid types.UID) {
	id = nameless(id)
	if known, ok := f.objects[id]; ok && known.uid == uid {
		delete(f.objects, id)
		delete(f.silent, id)
		f.changed = true
	}
}

// differs returns whether the hub shows another status of the Work than the agent last wrote.
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

// nameless returns an identifier without the ordinal, which an object itself does not know.
func nameless(id workv1alpha1.ResourceIdentifier) workv1alpha1.ResourceIdentifier {
	id.Ordinal = 0
	return id
}

// identify returns the identifier of an object, without the ordinal.
func identify(obj *unstructured.Unstructured) workv1alpha1.ResourceIdentifier {
	gvk := obj.GroupVersionKind()
	return workv1alpha1.ResourceIdentifier{
		Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName(),
	}
}

// sameStatus returns whether two statuses are equal, apart from their times. The reasons of pods are not compared: an
// older hub drops them, and the agent would write them again and again.
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

// sameJSON compares two documents by value.
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
