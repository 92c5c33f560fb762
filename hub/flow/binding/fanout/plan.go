package fanout

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
)

// Input is what a plan is made of. Nothing of it is changed.
type Input struct {
	// ID is the permanent id of the binding.
	ID string
	// Desired are the Works as rendered.
	Desired []*workv1alpha1.Work
	// Live are the Works of the binding, and whatever else bears the name of a
	// desired one. Their manifests are not looked at.
	Live []*workv1alpha1.Work
	// Keep are the namespaces whose Works stay as they are: what they should be is not
	// known, or the application is leaving the cluster in its own time.
	Keep sets.Set[string]
	// Purge are the namespaces whose Works must be gone before new ones are created.
	Purge sets.Set[string]
	// Suspect are the Works whose hash is not to be trusted, because somebody else
	// changed their spec.
	Suspect sets.Set[types.NamespacedName]
	// Reasons say why Works go that are not desired.
	Reasons Reasons
	// Preserve says whether what a Work brought stays in the member when it goes; nil if nothing does.
	Preserve func(*workv1alpha1.Work) bool
}

// Update is a Work to be changed.
type Update struct {
	Live    *workv1alpha1.Work
	Desired *workv1alpha1.Work
	// Spec says whether the spec is to be written, not only labels and annotations.
	Spec bool
}

// Deletion is a Work to be deleted.
type Deletion struct {
	Live *workv1alpha1.Work
	// Intent is why, a value of contract.DeletionIntentAnnotation.
	Intent string
	// Preserve says that what it brought is to stay in the member. The Work may not say so yet: it was kept as it was, or the
	// edit that has its objects stay has it go, too.
	Preserve bool
}

// Plan is what to do, each list sorted by cluster.
type Plan struct {
	Create []*workv1alpha1.Work
	Update []Update
	// Delete are the Works to be deleted, and those that somebody else deleted and that are
	// not desired: they get their intent, without which the agent keeps what they brought.
	Delete []Deletion
	// Withdraw are Works that are being deleted by intent, and desired again: without it the
	// agent lets go of them and keeps what they brought for those that take their place. And those that stay as they are, and say
	// that they are meant to be deleted: we were stopped before we did, and whoever deletes one by hand later does not mean its objects.
	Withdraw []*workv1alpha1.Work
	// Waiting are Works that are being deleted and whose place is needed.
	Waiting []*workv1alpha1.Work
	// Moves says that what is created takes the place of Works in clusters that are no targets any more; Decide leaves it to the caller.
	Moves bool
	// Held are Works that are not created yet because of Input.Purge.
	Held []*workv1alpha1.Work
}

// Decide makes the plan.
func Decide(in Input) Plan {
	var p Plan
	live := make(map[types.NamespacedName]*workv1alpha1.Work, len(in.Live))
	purging := false
	for _, w := range in.Live {
		live[Key(w)] = w
		purging = purging || (bindings.IDOf(w) == in.ID && in.Purge.Has(w.Namespace))
	}
	desired := make(sets.Set[types.NamespacedName], len(in.Desired))
	for _, w := range in.Desired {
		key := Key(w)
		desired.Insert(key)
		there := live[key]
		switch {
		case there != nil && !there.DeletionTimestamp.IsZero():
			p.Waiting = append(p.Waiting, there)
			if bindings.IDOf(there) == in.ID && contract.DeletionIntended(there.Annotations) {
				p.Withdraw = append(p.Withdraw, there)
			}
		case there != nil && bindings.IDOf(there) == in.ID:
			if u := (Update{Live: there, Desired: w, Spec: specDiffers(there, w) || in.Suspect.Has(key)}); u.Spec || metadataDiffers(there, w) {
				p.Update = append(p.Update, u)
			}
		case purging:
			p.Held = append(p.Held, w)
		default:
			// If somebody else has the name, the server says so, and who it is.
			p.Create = append(p.Create, w)
		}
	}
	for _, w := range in.Live {
		if bindings.IDOf(w) == in.ID && w.DeletionTimestamp.IsZero() && contract.DeletesObjects(w.Annotations) && !desired.Has(Key(w)) && in.Keep.Has(w.Namespace) {
			p.Withdraw = append(p.Withdraw, w)
		}
		going := !w.DeletionTimestamp.IsZero() && contract.DeletionIntended(w.Annotations)
		if bindings.IDOf(w) == in.ID && !going && !desired.Has(Key(w)) && !in.Keep.Has(w.Namespace) {
			p.Delete = append(p.Delete, Deletion{Live: w, Intent: in.Reasons.intent(w), Preserve: in.Preserve != nil && in.Preserve(w)})
		}
	}
	sort(p.Create)
	slices.SortFunc(p.Delete, func(a, b Deletion) int { return compare(a.Live, b.Live) })
	sort(p.Withdraw)
	sort(p.Waiting)
	sort(p.Held)
	slices.SortFunc(p.Update, func(a, b Update) int { return compare(a.Desired, b.Desired) })
	return p
}

// Key returns the name by which a Work is known.
func Key(w *workv1alpha1.Work) types.NamespacedName {
	return types.NamespacedName{Namespace: w.Namespace, Name: w.Name}
}

// OwnerName names the binding that a Work belongs to, for people.
func OwnerName(w *workv1alpha1.Work) string {
	if name := w.Annotations[contract.ClusterResourceBindingNameAnnotation]; name != "" {
		return "ClusterResourceBinding " + name
	}
	if name := w.Annotations[contract.ResourceBindingNameAnnotation]; name != "" {
		return "ResourceBinding " + w.Annotations[contract.ResourceBindingNamespaceAnnotation] + "/" + name
	}
	return "the binding with the permanent id " + bindings.IDOf(w)
}

func specDiffers(live, desired *workv1alpha1.Work) bool {
	return live.Annotations[contract.ManifestHashAnnotation] != desired.Annotations[contract.ManifestHashAnnotation]
}

func sort(works []*workv1alpha1.Work) { slices.SortFunc(works, compare) }

func compare(a, b *workv1alpha1.Work) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
