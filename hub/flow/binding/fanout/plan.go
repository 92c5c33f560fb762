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

// Input is what a plan is based on. It is not modified.
type Input struct {
	// ID is the permanent id of the binding.
	ID string
	// Desired are the rendered Works.
	Desired []*workv1alpha1.Work
	// Live are the Works of the binding, and any other Works with the names of desired ones. Their manifests are not read.
	Live []*workv1alpha1.Work
	// Keep are the namespaces whose Works stay as they are, because their desired content is not known, or because the application is
	// leaving the cluster gracefully.
	Keep sets.Set[string]
	// Purge are the namespaces whose Works must be gone before new ones are created.
	Purge sets.Set[string]
	// Suspect are the Works whose hash cannot be trusted, because another writer changed their spec.
	Suspect sets.Set[types.NamespacedName]
	// Reasons say why Works are deleted that are not desired.
	Reasons Reasons
	// Preserve returns whether the objects of a Work stay in the member when it is deleted; nil means no.
	Preserve func(*workv1alpha1.Work) bool
}

// Update is a Work to change.
type Update struct {
	Live    *workv1alpha1.Work
	Desired *workv1alpha1.Work
	// Spec says to write the spec, not only labels and annotations.
	Spec bool
}

// Deletion is a Work to delete.
type Deletion struct {
	Live *workv1alpha1.Work
	// Intent is the reason, a value of contract.DeletionIntentAnnotation.
	Intent string
	// Preserve says that its objects must stay in the member. The Work may not say so yet: it was kept as it was, or the edit that
	// preserves its objects also deletes it.
	Preserve bool
}

// Plan is what to do, each list sorted by cluster.
type Plan struct {
	Create []*workv1alpha1.Work
	Update []Update
	// Delete are the Works to delete, and Works that another writer deleted and that are not desired. The latter get their intent, without
	// which the agent keeps their objects.
	Delete []Deletion
	// Withdraw are Works that are being deleted by intent and are desired again. Without the intent, the agent releases them and keeps
	// their objects for the Works that replace them. It also has Works to keep with a deletion intent, which are not being deleted: the hub
	// stopped before the deletion, and if somebody deletes such a Work by hand later, its objects must stay.
	Withdraw []*workv1alpha1.Work
	// Waiting are Works that are being deleted and whose names are needed.
	Waiting []*workv1alpha1.Work
	// Moves says that the created Works replace Works in clusters that are no targets any more; the caller of Decide sets it.
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
			// If the name is taken by another Work, the server rejects it.
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

// Key returns the namespace and name of a Work.
func Key(w *workv1alpha1.Work) types.NamespacedName {
	return types.NamespacedName{Namespace: w.Namespace, Name: w.Name}
}

// OwnerName returns the name of the binding that a Work belongs to, for messages.
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
