package binding

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/quota"
	"fairlead.dev/hub/flow/binding/fanout"
)

// outcome is the result of carrying out a plan.
type outcome struct {
	written  []*workv1alpha1.Work
	deleted  []*workv1alpha1.Work
	waiting  []*workv1alpha1.Work
	failures []failure
	skipped  int
}

// err joins the errors to retry. Conflicts come last, since they alone are not a failure.
func (o outcome) err() error {
	var errs, conflicts []error
	for _, f := range o.failures {
		if apierrors.IsConflict(f.err) {
			conflicts = append(conflicts, f.err)
		} else {
			errs = append(errs, f.err)
		}
	}
	return errors.Join(append(errs, conflicts...)...)
}

// errTerminating means that a Work of the same name is being deleted. The watch reports when it is gone.
var errTerminating = errors.New("the Work is being deleted")

// execute carries out a plan, deletions first. The manifests of the Works to write are in m.
func (r *reconciler) execute(ctx context.Context, id string, plan fanout.Plan, m *manifests) outcome {
	out := outcome{waiting: plan.Waiting}

	errs, _ := inBatches(plan.Delete, func(d fanout.Deletion) error { return r.delete(ctx, id, d) }, never)
	for i, d := range plan.Delete {
		if errs[i] != nil {
			out.failures = append(out.failures, r.failed(d.Live, errs[i]))
		} else {
			out.deleted = append(out.deleted, d.Live)
		}
	}

	errs, _ = inBatches(plan.Withdraw, func(w *workv1alpha1.Work) error {
		r.expectations.withdrawing(w)
		return kube.WithdrawDeletion(ctx, r.hubClient, w, contract.FieldManagerBinding)
	}, never)
	for i, w := range plan.Withdraw {
		if errs[i] != nil {
			out.failures = append(out.failures, r.failed(w, errs[i]))
		}
	}

	errs, _ = inBatches(plan.Update, func(u fanout.Update) error {
		if !u.Spec {
			return r.update(ctx, id, u)
		}
		if err := r.checkRoom(m, u.Desired, u.Live.UID, false); err != nil {
			return fmt.Errorf("updating work %q in %q: %w", u.Live.Name, u.Live.Namespace, err)
		}
		return m.whole(ctx, u.Desired, func(w *workv1alpha1.Work) error {
			return r.update(ctx, id, fanout.Update{Live: u.Live, Desired: w, Spec: true})
		})
	}, never)
	for i, u := range plan.Update {
		if errs[i] != nil {
			out.failures = append(out.failures, r.failed(u.Desired, errs[i]))
		} else {
			out.written = append(out.written, u.Desired)
		}
	}

	errs, tried := inBatches(plan.Create, func(w *workv1alpha1.Work) error {
		if err := r.checkRoom(m, w, "", plan.Moves); err != nil {
			return fmt.Errorf("creating work %q in %q: %w", w.Name, w.Namespace, err)
		}
		return m.whole(ctx, w, func(w *workv1alpha1.Work) error { return r.create(ctx, id, w, plan.Moves) })
	}, fatal)
	for i, w := range plan.Create[:tried] {
		switch {
		case errs[i] == nil:
			out.written = append(out.written, w)
		case errors.Is(errs[i], errTerminating):
			out.waiting = append(out.waiting, w)
		default:
			out.failures = append(out.failures, r.failed(w, errs[i]))
		}
	}
	out.skipped = len(plan.Create) - tried
	return out
}

// checkRoom returns an error if the namespace of a Work has no room for it in its part of the database. It is called before the manifest is
// rendered again, because rejected Works are retried again and again.
func (r *reconciler) checkRoom(m *manifests, w *workv1alpha1.Work, replaced types.UID, moves bool) error {
	return r.stored.Check(w, m.sizeOf(w), replaced, moves) //nolint:wrapcheck // the caller adds the context
}

func (r *reconciler) failed(w *workv1alpha1.Work, err error) failure {
	cluster, _ := contract.ClusterOf(r.prefix, w.Namespace)
	return failure{cluster: cluster, err: err}
}

// fatal returns whether the next cluster would have the same error. Problems of one execution namespace, or of one name in it, only affect
// that cluster.
func fatal(err error) bool {
	return !namespaceMissing(err) && !apierrors.IsConflict(err) && !errors.Is(err, errTerminating) && !errors.Is(err, errTaken) &&
		!errors.Is(err, errNotRendered)
}

func namespaceMissing(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// errTaken means that a Work's name belongs to another binding, or to a part of a FederatedResourceQuota.
var errTaken = errors.New("the name of the Work is taken")

// create creates a Work; moves says that it replaces one in another cluster.
func (r *reconciler) create(ctx context.Context, id string, desired *workv1alpha1.Work, moves bool) error {
	settle, err := r.stored.Admit(desired, "", moves)
	if err != nil {
		return fmt.Errorf("creating work %q in %q: %w", desired.Name, desired.Namespace, err)
	}
	work := desired.DeepCopy()
	r.expectations.begin(id, work)
	err = r.hubClient.Create(ctx, work, client.FieldOwner(contract.FieldManagerBinding))
	if err == nil {
		settle(work) // before its manifests are dropped
		r.expectations.wrote(work)
		return nil
	}
	settle(nil)
	r.expectations.failed(desired)
	switch {
	case apierrors.IsAlreadyExists(err):
		return r.adopt(ctx, id, desired)
	case namespaceMissing(err):
		return fmt.Errorf("creating work %q: the execution namespace %q does not exist yet, or is being removed: %w", desired.Name, desired.Namespace, err)
	default:
		return fmt.Errorf("creating work %q in %q: %w", desired.Name, desired.Namespace, err)
	}
}

// adopt handles a Work that exists, although the cache does not show it as the binding's.
func (r *reconciler) adopt(ctx context.Context, id string, desired *workv1alpha1.Work) error {
	live := &workv1alpha1.Work{}
	err := r.hubReader.Get(ctx, client.ObjectKeyFromObject(desired), live)
	if apierrors.IsNotFound(err) {
		// It was deleted between the two requests: retry soon, as after any conflict.
		return apierrors.NewConflict(schema.GroupResource{Group: workv1alpha1.GroupVersion.Group, Resource: "works"}, desired.Name, err)
	}
	if err != nil {
		return fmt.Errorf("reading work %q in %q: %w", desired.Name, desired.Namespace, err)
	}
	owner := bindings.IDOf(live)
	switch namespace, name, isPart := quota.PartOf(live); {
	case isPart:
		return fmt.Errorf("%w: %q in %q carries the cluster's part of FederatedResourceQuota %s/%s, a ResourceQuota of the same namespace and name; rename one of the two",
			errTaken, desired.Name, desired.Namespace, namespace, name)
	case !live.DeletionTimestamp.IsZero():
		if err := r.takeBack(ctx, live, desired); err != nil {
			return err
		}
		return errTerminating
	case owner == "":
		return r.update(ctx, id, fanout.Update{Live: live, Desired: desired, Spec: true})
	case owner != id:
		takesOver, err := r.takesOver(ctx, id, live, desired)
		if err != nil {
			return err
		}
		if takesOver {
			return r.update(ctx, id, fanout.Update{Live: live, Desired: desired, Spec: true})
		}
		return fmt.Errorf("%w: %q in %q belongs to %s, whose template has the same kind, namespace and name; rename one of the templates",
			errTaken, desired.Name, desired.Namespace, fanout.OwnerName(live))
	}
	if live.Annotations[contract.RevisionAnnotation] != desired.Annotations[contract.RevisionAnnotation] {
		// What it may get depends on the revision that it has, which the cache will show.
		return apierrors.NewConflict(schema.GroupResource{Group: workv1alpha1.GroupVersion.Group, Resource: "works"}, desired.Name,
			errors.New("the Work has a revision that the cache does not show"))
	}
	plan := fanout.Decide(fanout.Input{ID: id, Desired: []*workv1alpha1.Work{desired}, Live: []*workv1alpha1.Work{live}})
	for _, u := range plan.Update {
		return r.update(ctx, id, u)
	}
	return nil
}

func (r *reconciler) update(ctx context.Context, id string, u fanout.Update) error {
	patch, err := u.Patch()
	if err != nil {
		return err
	}
	settle := func(*workv1alpha1.Work) {}
	if u.Spec {
		if settle, err = r.stored.Admit(u.Desired, u.Live.UID, false); err != nil {
			return fmt.Errorf("updating work %q in %q: %w", u.Live.Name, u.Live.Namespace, err)
		}
	}
	work := &workv1alpha1.Work{}
	work.Namespace, work.Name = u.Live.Namespace, u.Live.Name
	r.expectations.begin(id, u.Desired)
	err = r.hubClient.Patch(ctx, work, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(contract.FieldManagerBinding))
	if err != nil {
		r.expectations.failed(u.Desired)
		settle(nil)
		if apierrors.IsNotFound(err) {
			// It was just deleted. The watch reports that, and it is created again.
			return nil
		}
		return fmt.Errorf("updating work %q in %q: %w", work.Name, work.Namespace, err)
	}
	settle(work) // before its manifests are dropped
	r.expectations.wrote(work)
	return nil
}

// delete deletes a Work. The expectation is recorded first, so that the watch does not report the writes as those of another writer.
func (r *reconciler) delete(ctx context.Context, id string, d fanout.Deletion) error {
	if err := r.confirmIntent(ctx, &d); err != nil {
		return err
	}
	if err := r.settlePreservation(ctx, d); err != nil {
		return err
	}
	r.expectations.deleting(id, d.Live, d.Intent)
	if err := kube.DeleteWork(ctx, r.hubClient, d.Live, d.Intent, contract.FieldManagerBinding); err != nil {
		r.expectations.failed(d.Live)
		return err
	}
	return nil
}
