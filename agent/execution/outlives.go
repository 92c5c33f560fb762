package execution

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/agent/execution/plan"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// namedWork is a Work that an object in a container names.
type namedWork struct {
	work *workv1alpha1.Work
	// has returns whether an object belongs to it, and outlived whether its objects stay when it ends.
	has      func(plan.Object) bool
	outlived bool
}

// endsFirstError says that an object is not deleted yet, because another Work has yet to delete an object that would
// be deleted along with it, or whose deletion may need the rights that it grants. That deletion uses the rights of
// the Work's account, and the member may refuse it.
type endsFirstError struct {
	in     plan.Object
	object plan.Object
	// work is the name of that Work.
	work string
	// rights says that the first object grants rights that deleting the second may need.
	rights bool
}

// Error implements error.
func (e *endsFirstError) Error() string {
	return fmt.Sprintf("%s is not deleted before %s, which Work %q is about to delete", e.in, e.object, e.work)
}

// outlives returns whether an object of a Work stays in the member when the Work ends: then it must not be deleted
// with its container either. Works end in any order. told is false for an object that no Work contains, whatever its
// marks say: people copy objects with all their labels and annotations, controllers copy these to derived objects,
// and a Work may have contained the object earlier. If an object inside the container does not stay but is not being
// deleted yet, the container waits for it. It does not wait for objects elsewhere, which are not deleted with it and
// whose Work need not end.
func (r *Reconciler) outlives(ctx context.Context, in *container, inside bool, object plan.Object, obj *metav1.PartialObjectMetadata) (stays, told bool, err error) {
	name, ok := plan.WorkOf(obj)
	if !ok {
		return false, false, nil
	}
	named, known := in.works[name]
	if !known {
		if named, err = r.named(ctx, name); err != nil {
			return false, false, err
		}
		if in.works == nil {
			in.works = map[types.NamespacedName]*namedWork{}
		}
		in.works[name] = named
	}
	ours, going := obj.Labels[contract.ManagedLabel] == contract.LabelTrue, obj.DeletionTimestamp != nil
	switch {
	case named == nil && going:
		return false, ours, nil // the Work has just ended, or may have
	case named == nil:
		// If the Work has just ended, objects derived from its objects disappear a moment later, so their owners
		// decide.
		return true, len(obj.OwnerReferences) == 0, nil
	case !named.has(object):
		return false, false, nil
	case named.outlived || plan.IsOfAnotherThan(obj, named.work):
		return !going, true, nil
	case ours && !going:
		if inside {
			in.first = &endsFirstError{in: in.Object, object: object, work: named.work.Name}
		}
		return false, true, nil
	default:
		return false, ours, nil // without our label it is not deleted for its Work
	}
}

// named returns a Work that an object names; nil if it does not exist, or is not this member's.
func (r *Reconciler) named(ctx context.Context, name types.NamespacedName) (*namedWork, error) {
	if r.works == nil { // a sweep: what it is not to remove, or could not release, stays
		work := r.swept[name]
		if work == nil {
			return nil, nil //nolint:nilnil // that there is none is an answer
		}
		return &namedWork{work: work, has: plan.Objects(work), outlived: ptrTrue(work.Spec.PreserveResourcesOnDeletion)}, nil
	}
	if name.Namespace != r.namespace {
		return nil, nil //nolint:nilnil // it is another hub's, or of another life of this cluster
	}
	work := &workv1alpha1.Work{}
	err := r.works.hubClient.Get(ctx, name, work)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // that there is none is an answer
	case err != nil:
		return nil, fmt.Errorf("reading Work %q: %w", name.Name, err)
	}
	return &namedWork{work: work, has: plan.Objects(work), outlived: plan.Outlives(work)}, nil
}
