package binding

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/binding/fanout"
	"fairlead.dev/hub/binding/override"
	"fairlead.dev/hub/binding/render"
)

// rendering is what came of rendering a binding for its targets.
type rendering struct {
	works []*workv1alpha1.Work
	// keep are the namespaces whose Works stay as they are.
	keep sets.Set[string]
	// failures by cluster, and whether an override policy is to blame.
	failures []failure
}

// failure is a cluster that could not be served.
type failure struct {
	cluster  string
	err      error
	override bool
}

// err joins what is to be tried again. Most is not: all that goes into a rendering is
// watched, but for what a webhook answers.
func (r rendering) err() error {
	var errs []error
	for _, f := range r.failures {
		if errors.Is(f.err, render.ErrRevise) {
			errs = append(errs, fmt.Errorf("rendering for cluster %q: %w", f.cluster, f.err))
		}
	}
	return errors.Join(errs...)
}

// render makes the Works of all targets. A cluster that fails keeps what it has; the
// others are served.
func (r *reconciler) render(ctx context.Context, s *scope) rendering {
	out := rendering{keep: s.keep.Clone()}
	if s.template == nil {
		for _, target := range s.targets {
			out.keep.Insert(contract.ExecutionNamespace(r.prefix, target.Name))
		}
		return out
	}
	overrides := override.Select(s.policies, selector.TargetOf(s.template))
	revise := r.revise(ctx, s.template.GroupVersionKind())
	live := s.live()
	purging := render.Purging(s.binding.BindingSpec(), func(cluster string) bool {
		return live[contract.ExecutionNamespace(r.prefix, cluster)] != nil
	})
	for _, target := range s.targets {
		namespace := contract.ExecutionNamespace(r.prefix, target.Name)
		cluster := s.clusters[target.Name]
		if cluster == nil {
			// It is unknown, or being removed: the scheduler will drop it.
			out.keep.Insert(namespace)
			continue
		}
		target.Replicas = render.Hold(target.Replicas, live[namespace], purging)
		work, err := render.Work(render.Input{
			Template: s.template, Binding: s.binding, Target: target, Cluster: cluster, Revise: revise,
			Overrides: overrides, ExecutionNamespacePrefix: r.prefix,
		})
		if err != nil {
			_, overrideErr := overrides.Apply(s.template.DeepCopy(), cluster)
			out.failures = append(out.failures, failure{cluster: target.Name, err: err, override: overrideErr != nil})
			out.keep.Insert(namespace)
			continue
		}
		out.works = append(out.works, work)
	}
	return out
}

// revise returns what sets the replicas of objects of a kind; nil if nothing does.
func (r *reconciler) revise(ctx context.Context, kind schema.GroupVersionKind) render.Revise {
	if !r.interpreter.Has(kind, interpreter.ReviseReplica) {
		return nil
	}
	return func(obj *unstructured.Unstructured, replicas int32) (*unstructured.Unstructured, error) {
		return r.interpreter.ReviseReplicas(ctx, obj, replicas)
	}
}

// outcome is what came of a plan.
type outcome struct {
	written  []*workv1alpha1.Work
	deleted  []*workv1alpha1.Work
	waiting  []*workv1alpha1.Work
	failures []failure
	skipped  int
}

// err joins what is to be tried again. Conflicts come last: alone they are no failure.
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

// errTerminating is what is said of a Work whose place is taken by one that is being
// deleted. The watch tells when it is gone.
var errTerminating = errors.New("the Work is being deleted")

// execute does what a plan says: what is to go goes first.
func (r *reconciler) execute(ctx context.Context, id string, plan fanout.Plan) outcome {
	out := outcome{waiting: plan.Waiting}

	errs, _ := inBatches(plan.Delete, func(w *workv1alpha1.Work) error { return r.delete(ctx, id, w) }, never)
	for i, w := range plan.Delete {
		if errs[i] != nil {
			out.failures = append(out.failures, r.failed(w, errs[i]))
		} else {
			out.deleted = append(out.deleted, w)
		}
	}

	errs, _ = inBatches(plan.Update, func(u fanout.Update) error { return r.update(ctx, id, u) }, never)
	for i, u := range plan.Update {
		if errs[i] != nil {
			out.failures = append(out.failures, r.failed(u.Desired, errs[i]))
		} else {
			out.written = append(out.written, u.Desired)
		}
	}

	errs, tried := inBatches(plan.Create, func(w *workv1alpha1.Work) error { return r.create(ctx, id, w) }, fatal)
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

func (r *reconciler) failed(w *workv1alpha1.Work, err error) failure {
	cluster, _ := contract.ClusterOf(r.prefix, w.Namespace)
	return failure{cluster: cluster, err: err}
}

// fatal says whether the next cluster will meet the same error. What is wrong with one
// namespace, or with one name in it, is that cluster's own affair.
func fatal(err error) bool {
	return !namespaceMissing(err) && !apierrors.IsConflict(err) && !errors.Is(err, errTerminating) && !errors.Is(err, errTaken)
}

func namespaceMissing(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// errTaken is what is said of a Work whose name belongs to another binding.
var errTaken = errors.New("the name of the Work is taken")

func (r *reconciler) create(ctx context.Context, id string, desired *workv1alpha1.Work) error {
	work := desired.DeepCopy()
	r.expectations.begin(id, work)
	err := r.hubClient.Create(ctx, work, client.FieldOwner(contract.FieldManagerBinding))
	if err == nil {
		r.expectations.wrote(work)
		return nil
	}
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

// adopt deals with a Work that is there though the cache does not show it as ours.
func (r *reconciler) adopt(ctx context.Context, id string, desired *workv1alpha1.Work) error {
	live := &workv1alpha1.Work{}
	err := r.hubReader.Get(ctx, client.ObjectKeyFromObject(desired), live)
	if apierrors.IsNotFound(err) {
		// It went between the two requests: a quick second try, as after any conflict.
		return apierrors.NewConflict(schema.GroupResource{Group: workv1alpha1.GroupVersion.Group, Resource: "works"}, desired.Name, err)
	}
	if err != nil {
		return fmt.Errorf("reading work %q in %q: %w", desired.Name, desired.Namespace, err)
	}
	owner := fanout.Owner(live)
	switch {
	case !live.DeletionTimestamp.IsZero():
		return errTerminating
	case owner == "":
		return r.update(ctx, id, fanout.Update{Live: live, Desired: desired, Spec: true})
	case owner != id:
		return fmt.Errorf("%w: %q in %q belongs to %s, whose template has the same kind, namespace and name; rename one of the templates",
			errTaken, desired.Name, desired.Namespace, fanout.OwnerName(live))
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
	work := &workv1alpha1.Work{}
	work.Namespace, work.Name = u.Live.Namespace, u.Live.Name
	r.expectations.begin(id, u.Desired)
	err = r.hubClient.Patch(ctx, work, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(contract.FieldManagerBinding))
	if err != nil {
		r.expectations.failed(u.Desired)
		if apierrors.IsNotFound(err) {
			// It was deleted a moment ago: the watch will tell, and it is made anew.
			return nil
		}
		return fmt.Errorf("updating work %q in %q: %w", work.Name, work.Namespace, err)
	}
	r.expectations.wrote(work)
	return nil
}

func (r *reconciler) delete(ctx context.Context, id string, w *workv1alpha1.Work) error {
	target := &workv1alpha1.Work{}
	target.Namespace, target.Name = w.Namespace, w.Name
	err := r.hubClient.Delete(ctx, target, client.Preconditions{UID: &w.UID})
	if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting work %q in %q: %w", w.Name, w.Namespace, err)
	}
	// A conflict says that it is gone, and that there is another of its name.
	if err == nil {
		r.expectations.deleted(id, w)
	}
	return nil
}
