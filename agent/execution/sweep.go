package execution

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/execution/plan"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// Sweeper ends the work of an agent in a member that leaves the hub, or was retired by it.
type Sweeper struct {
	// MemberClient reads and writes objects of the member, as their namespaces' accounts if the agent does so.
	MemberClient client.Client
	// MemberReader reads objects of the member with the agent's own rights.
	MemberReader client.Reader
	// Namespaces are those of the member to which the sweep is confined; empty means no confinement.
	Namespaces []string
	// NamespacedKinds lists the namespaced kinds of the member.
	NamespacedKinds NamespacedKinds
	// Discovery discovers what the member serves.
	Discovery Discovery
	// Clock is replaced in tests.
	Clock clock.Clock
}

// Swept is the result of a Sweep.
type Swept struct {
	// Objects is how many objects were deleted or lost our marks, without those that were gone or not ours.
	Objects int
	// Left reports each Namespace and CustomResourceDefinition that was not deleted because of objects of others in
	// it; it has lost our marks. It also reports objects that were not touched because they belong to another Work of
	// the same name, from another hub for instance, or are outside Namespaces.
	Left []string
}

// Sweep handles the objects of Works that nobody will handle afterwards. They are deleted, or stay without our marks:
// all of them if stay is set, otherwise those of Works that preserve their objects. It may be repeated if it failed.
func (s Sweeper) Sweep(ctx context.Context, works []*workv1alpha1.Work, stay bool) (Swept, error) {
	r := &Reconciler{
		memberClient: s.MemberClient, reader: s.MemberReader, namespaces: s.Namespaces, namespacedKinds: s.NamespacedKinds,
		discovery: s.Discovery, clock: s.Clock,
		stuckAfter: defaultStuckAfter, kinds: newKinds(nil, nil, s.Clock), pendingDeletions: newPendingDeletions(),
		swept: make(map[types.NamespacedName]*workv1alpha1.Work, len(works)),
	}
	for _, work := range works {
		r.swept[client.ObjectKeyFromObject(work)] = work
	}
	var out Swept
	var problems []error
	for _, e := range sweepOrder(works) {
		work, m := e.work, e.manifest
		one := r.remove
		switch {
		case m.Problem != nil:
			one = r.disown
		case stay || ptrTrue(work.Spec.PreserveResourcesOnDeletion):
			one = r.release
		case len(problems) > 0 && plan.GivesRights(m.Object):
			problems = append(problems, fmt.Errorf("%s: it is not removed before the others, because removing them may need its rights", m.Object))
			continue
		}
		name := client.ObjectKeyFromObject(work)
		did, err := r.endOne(ctx, name, m, one)
		if because, ok := errors.AsType[*contentsError](err); ok {
			if _, err = r.endOne(ctx, name, m, r.release); err == nil {
				out.Left = append(out.Left, because.Error())
				continue
			}
		}
		if isLeft(err) {
			out.Left = append(out.Left, err.Error())
			continue
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", m.Object, err))
			continue
		}
		if did {
			out.Objects++
		}
	}
	return out, errors.Join(problems...)
}

// swept is an object that a sweep handles.
type swept struct {
	work     *workv1alpha1.Work
	manifest plan.Manifest
}

// sweepOrder returns the objects of Works in the order in which they are handled. Objects that stay come first:
// without our marks they are not deleted with a Namespace or a CustomResourceDefinition. Containers come late: their
// contents are deleted individually, as the owning account, and contents that cannot be deleted keep them. RBAC comes
// after the objects whose deletion may need it.
func sweepOrder(works []*workv1alpha1.Work) []swept {
	var out []swept
	for _, work := range works {
		for _, m := range plan.Ending(work) {
			out = append(out, swept{work, m})
		}
	}
	rank := func(one swept) int {
		if ptrTrue(one.work.Spec.PreserveResourcesOnDeletion) {
			return -1
		}
		return plan.EndingRank(one.manifest.Object)
	}
	slices.SortStableFunc(out, func(a, b swept) int { return cmp.Compare(rank(a), rank(b)) })
	return out
}
