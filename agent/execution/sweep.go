package execution

import (
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

// Sweeper ends what an agent did in a member that leaves the hub, or was retired by it.
type Sweeper struct {
	// MemberClient reads and writes objects of the member, as the accounts if it is one of those.
	MemberClient client.Client
	// MemberReader reads objects of the member with the agent's own rights.
	MemberReader client.Reader
	// NamespacedKinds lists what may be in a namespace of the member.
	NamespacedKinds NamespacedKinds
	// Discovery asks the member what it serves.
	Discovery Discovery
	// Clock tells the time.
	Clock clock.Clock
}

// Swept is what came of it.
type Swept struct {
	// Objects is how many were removed, or lost our marks: not those that were gone, or not ours.
	Objects int
	// Left says of each Namespace and CustomResourceDefinition that was not removed because of
	// what others have in it that it is still there; it has lost our marks. And it says which objects are as they were,
	// since they are of another Work of the name, such as that of another hub.
	Left []string
}

// Sweep deals with the objects of Works after the last of which nobody will ask. They stay
// and lose our marks, or are deleted, but for those of Works that say themselves that they
// stay. It may be called again if it did not succeed.
func (s Sweeper) Sweep(ctx context.Context, works []*workv1alpha1.Work, stay bool) (Swept, error) {
	r := &Reconciler{
		memberClient: s.MemberClient, reader: s.MemberReader, namespacedKinds: s.NamespacedKinds,
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
		}
		name := client.ObjectKeyFromObject(work)
		did, err := r.endOne(ctx, name, m, one)
		if another, ok := errors.AsType[*ofAnotherError](err); ok {
			out.Left = append(out.Left, another.Error())
			continue
		}
		if because, ok := errors.AsType[*contentsError](err); ok {
			if _, err = r.endOne(ctx, name, m, r.release); err == nil {
				out.Left = append(out.Left, because.Error())
				continue
			}
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

// swept is an object that a sweep ends.
type swept struct {
	work     *workv1alpha1.Work
	manifest plan.Manifest
}

// sweepOrder returns the objects of Works in the order in which they end. Those that stay come first: without our marks these do not go
// with a Namespace or a CustomResourceDefinition that is removed. These come last: what is in them is deleted by itself, as whose it is, and
// what the member does not let go keeps them.
func sweepOrder(works []*workv1alpha1.Work) []swept {
	var first, then, last []swept
	for _, work := range works {
		for _, m := range plan.Ending(work) {
			switch one := (swept{work, m}); {
			case ptrTrue(work.Spec.PreserveResourcesOnDeletion):
				first = append(first, one)
			case plan.IsContainer(m.Object):
				last = append(last, one)
			default:
				then = append(then, one)
			}
		}
	}
	return slices.Concat(first, then, last)
}
