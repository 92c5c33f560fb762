package execution

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/execution/plan"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// Sweep deals with the objects of Works after the last of which nobody will ask: the member
// leaves the hub, or was retired by it. They stay and lose our marks, or are deleted, but for
// those of Works that say themselves that they stay. It returns how many there were. It may
// be called again if it did not succeed.
func Sweep(ctx context.Context, memberClient client.Client, cl clock.Clock, works []*workv1alpha1.Work, stay bool) (int, error) {
	r := &Reconciler{memberClient: memberClient, clock: cl, stuckAfter: defaultStuckAfter, kinds: newKinds(nil, nil, cl), leaving: newLeaving()}
	count := 0
	var problems []error
	for _, work := range works {
		part := r.remove
		if stay || ptrTrue(work.Spec.PreserveResourcesOnDeletion) {
			part = r.release
		}
		// What was applied last goes first.
		manifests := plan.Order(plan.Parse(work))
		slices.Reverse(manifests)
		for _, m := range manifests {
			if m.Problem != nil {
				continue // it was never applied
			}
			_, err := memberClient.RESTMapper().RESTMapping(m.Object.GroupKind(), m.Object.Version)
			if meta.IsNoMatchError(err) {
				continue // the kind is gone from the member, and its objects with it
			}
			if err == nil {
				err = part(ctx, client.ObjectKeyFromObject(work), m)
			}
			if err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", m.Object, err))
				continue
			}
			count++
		}
	}
	return count, errors.Join(problems...)
}
