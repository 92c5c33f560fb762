package binding

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/semaphore"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/flow/binding/render"
	"fairlead.dev/hub/flow/binding/staging"
)

// rendering is the result of rendering a binding for its targets.
type rendering struct {
	// works may be without their manifests, which manifests provides then.
	works     []*workv1alpha1.Work
	manifests *manifests
	// marks are the marks that the existing Works should have if they are up to date, by namespace.
	marks map[string]string
	// keep are the namespaces whose Works stay as they are.
	keep sets.Set[string]
	// failures by cluster, and whether an override policy is the cause.
	failures []failure
}

// failure is a cluster that could not be served.
type failure struct {
	cluster  string
	err      error
	override bool
}

// err joins the errors to retry. Most are not retried, since the inputs of a rendering are watched, except for the answers of webhooks and
// the contents of revisions.
func (r rendering) err() error {
	var errs []error
	for _, f := range r.failures {
		if errors.Is(f.err, render.ErrRevise) || errors.Is(f.err, revision.ErrUnreadable) {
			errs = append(errs, fmt.Errorf("rendering for cluster %q: %w", f.cluster, f.err))
		}
	}
	return errors.Join(errs...)
}

// render renders the Works of some of the targets. A cluster whose rendering fails keeps its Work; the others are served.
func (r *reconciler) render(ctx context.Context, s *scope, targets []workv1alpha2.TargetCluster) (rendering, error) {
	out := rendering{keep: s.keep.Clone(), marks: map[string]string{}, manifests: &manifests{}}
	if s.template == nil {
		for _, target := range targets {
			out.keep.Insert(contract.ExecutionNamespace(r.prefix, target.Name))
		}
		return out, nil
	}
	live := s.live
	digest, err := r.digest(s, r.madeOf(s))
	if err != nil {
		return out, err
	}
	if s.waits() {
		digest = nil // not all Works are rendered from the present template
	}
	purging := render.Purging(s.binding.BindingSpec(), func(cluster string) bool {
		return live[contract.ExecutionNamespace(r.prefix, cluster)] != nil
	})
	out.manifests = r.newManifests(s, digest)
	for _, target := range targets {
		namespace := contract.ExecutionNamespace(r.prefix, target.Name)
		if s.clusters[target.Name] == nil || s.unchanged.Has(namespace) {
			// The cluster does not exist or is being deleted, and the scheduler will remove it; or its Work is up to date.
			out.keep.Insert(namespace)
			continue
		}
		target.Replicas = render.Hold(target.Replicas, live[namespace], purging)
		work, failed, err := r.renderWithin(ctx, s, digest, target)
		if err != nil {
			return out, err
		}
		if failed != nil {
			out.failures = append(out.failures, *failed)
		}
		if work == nil {
			out.keep.Insert(namespace)
			continue
		}
		if own := live[namespace]; digest != nil && own != nil {
			out.marks[namespace] = digest.Of(own, target, s.clusters[target.Name])
		}
		out.manifests.add(work, target)
		out.works = append(out.works, work)
	}
	return out, nil
}

// newManifests returns the manifests of a rendering, which can render Works again.
func (r *reconciler) newManifests(s *scope, digest *render.Digest) *manifests {
	return &manifests{
		all: r.writing, own: semaphore.NewWeighted(maxWritingOne), turn: semaphore.NewWeighted(1), dropped: map[string]dropped{},
		again: func(ctx context.Context, target workv1alpha2.TargetCluster) (*workv1alpha1.Work, error) {
			work, failed, err := r.renderWithin(ctx, s, digest, target)
			switch {
			case err != nil:
				return nil, err
			case failed != nil:
				return nil, failed.err
			case work == nil:
				return nil, r.behind(s.binding) // the input of the rendering has changed by now
			}
			return work, nil
		},
	}
}

// renderWithin renders the Work of one target, if it is within the quotas, and returns its mark; nil if the target must keep its Work. The
// error has nothing to do with the cluster.
func (r *reconciler) renderWithin(
	ctx context.Context, s *scope, digest *render.Digest, target workv1alpha2.TargetCluster,
) (*workv1alpha1.Work, *failure, error) {
	work, failed, err := r.renderFor(ctx, s, s.materials, target, s.live[contract.ExecutionNamespace(r.prefix, target.Name)])
	// A hub that is stopping must not render the rest first, nor report errors for the clusters.
	if err := cmp.Or(err, ctx.Err()); err != nil {
		return nil, nil, err
	}
	if work == nil {
		return nil, failed, nil
	}
	within, err := r.withinQuotas(ctx, s, target, work)
	if err != nil && failed == nil {
		failed = &failure{cluster: target.Name, err: err}
	}
	if !within {
		return nil, failed, nil
	}
	if digest != nil {
		work.Annotations[contract.RenderedFromAnnotation] = digest.Of(work, target, s.clusters[target.Name])
	}
	return work, failed, nil
}

// renderFor renders the Work of one target, given the existing one; nil if that must stay as it is. The error has nothing to do with the
// cluster.
func (r *reconciler) renderFor(
	ctx context.Context, s *scope, made *materials, target workv1alpha2.TargetCluster, own *workv1alpha1.Work,
) (*workv1alpha1.Work, *failure, error) {
	in := render.Input{
		Template: made.unstaged.Template, Binding: s.binding, Target: target, Cluster: s.clusters[target.Name], Revise: made.revise,
		Overrides: made.unstaged.Overrides, ExecutionNamespacePrefix: r.prefix, Preserved: made.preserved,
	}
	verdict, candidate, err := r.choose(ctx, s, target)
	if err != nil && !errors.Is(err, revision.ErrUnreadable) {
		return nil, nil, err
	}
	fails := func(err error) *failure {
		if err == nil {
			return nil
		}
		return &failure{cluster: target.Name, err: err}
	}
	if err != nil || verdict == staging.Keep || verdict == staging.Live && s.waits() {
		work, revised := r.inPlace(ctx, s, in, own)
		return work, fails(cmp.Or(err, revised)), nil
	}
	if verdict == staging.Send {
		from, err := made.of(s, candidate)
		if err != nil {
			return nil, fails(fmt.Errorf("revision %d: %w", candidate.ID.Number, err)), nil
		}
		if in, err = r.stagedInput(ctx, s, in, from, candidate, own); err != nil {
			return nil, nil, err
		}
	}
	work, err := render.Work(in)
	if err != nil {
		_, overrideErr := in.Overrides.Apply(in.Template.DeepCopy(), in.Cluster)
		return nil, &failure{cluster: target.Name, err: err, override: overrideErr != nil}, nil //nolint:nilerr // the failure contains it
	}
	if verdict == staging.Send && candidate.ID == s.rolloutNamed(candidate.Rollout).adopted {
		unwritten(work, own)
	}
	return work, nil, nil
}

// revise returns a function that sets the replicas of objects of a kind; nil if there is no rule. A webhook that did not answer is not
// called for the following clusters, since each call would take until its timeout.
func revise(ctx context.Context, kinds interpreter.Interpreter, kind schema.GroupVersionKind) render.Revise {
	if !kinds.Has(kind, interpreter.ReviseReplica) {
		return nil
	}
	var unanswered error
	return func(obj *unstructured.Unstructured, replicas int32) (*unstructured.Unstructured, error) {
		if unanswered != nil {
			return nil, unanswered
		}
		revised, err := kinds.ReviseReplicas(ctx, obj, replicas)
		if interpreter.IsUnanswered(err) {
			unanswered = err
		}
		return revised, err
	}
}
