package view

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/flow/binding/staging"
	"fairlead.dev/hub/people/view/rollouts"
)

// followed is a rollout that determines which content the clusters of a binding get: its own, or that of a workload
// that it is attached to.
type followed struct {
	// name is NAMESPACE/NAME of the rollout's binding; empty if it is the binding itself.
	name string
	// binding is nil if it is gone, and rollout nil if there is none yet.
	binding kube.Binding
	rollout kube.Rollout
	plan    revision.Plan
	sent    map[string]rollouts.Sent
	kept    map[revision.ID]*revision.Kept
}

// following has the rollouts that a binding follows, none if changes go out at once, and the reasons why clusters have
// its object.
type following struct {
	rollouts []*followed
	reasons  staging.Reasons
}

func (r *Reader) readFollowing(ctx context.Context, b kube.Binding) (following, error) {
	found, err := r.follows(ctx, b)
	if err != nil || len(found) == 0 {
		return following{}, err
	}
	names := make([]string, len(found))
	for i, f := range found {
		names[i] = f.name
	}
	return following{rollouts: found, reasons: staging.ReasonsOf(b, names)}, nil
}

// follows reads the rollouts that a binding follows.
func (r *Reader) follows(ctx context.Context, b kube.Binding) ([]*followed, error) {
	if bindings.IsStaged(b) {
		f, err := r.follow(ctx, b, "")
		if err != nil {
			return nil, err
		}
		return []*followed{f}, nil
	}
	var out []*followed
	for _, key := range staging.Leaders(b) {
		workload := kube.BindingsIn(key.Namespace).New()
		err := r.hub.Get(ctx, key, workload)
		switch {
		case apierrors.IsNotFound(err):
			out = append(out, &followed{name: key.String()})
			continue
		case err != nil:
			return nil, fmt.Errorf("reading the binding %q, whose object needs this one: %w", key, err)
		case !bindings.IsStaged(workload):
			continue
		}
		f, err := r.follow(ctx, workload, key.String())
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

func (r *Reader) follow(ctx context.Context, b kube.Binding, name string) (*followed, error) {
	f := &followed{name: name, binding: b, kept: map[revision.ID]*revision.Kept{}}
	var err error
	if f.rollout, err = r.rollout(ctx, b); err != nil || f.rollout == nil {
		return f, err
	}
	f.plan = revision.NewPlan(f.rollout.RolloutStatus())
	f.sent, err = r.sent(ctx, b)
	return f, err
}

// chooseContent decides, like the binding stage, which content a cluster gets of an object, and whose revision it is.
// Own is the cluster's Work of the object; nil if there is none.
func (r *Reader) chooseContent(
	ctx context.Context, ref revision.Ref, cluster string, own *workv1alpha1.Work, by following,
) (staging.Verdict, staging.Candidate, error) {
	if len(by.rollouts) == 0 {
		return staging.Live, staging.Candidate{}, nil
	}
	var candidates []staging.Candidate
	for _, f := range by.rollouts {
		if !by.reasons.Has(cluster, f.name) {
			continue
		}
		c, err := r.candidate(ctx, f, ref, cluster, own)
		if err != nil {
			return staging.Keep, staging.Candidate{}, err
		}
		candidates = append(candidates, c)
	}
	verdict, candidate := staging.Choose(candidates, by.reasons.Independent(cluster))
	return verdict, candidate, nil
}

// candidate returns the content of an object that a rollout has for a cluster.
func (r *Reader) candidate(ctx context.Context, f *followed, ref revision.Ref, cluster string, own *workv1alpha1.Work) (staging.Candidate, error) {
	had := staging.RevisionOf(own, f.name)
	switch {
	case f.binding == nil && had.Zero():
		return staging.Candidate{State: staging.Absent}, nil
	case f.rollout == nil, f.name != "" && !bindings.IsTarget(f.binding.BindingSpec(), cluster):
		return staging.Candidate{}, nil
	}
	have := f.sent[cluster].ID
	if had.Number > have.Number {
		have = had
	}
	want := f.plan.Wanted(cluster, have)
	if want.Zero() {
		return staging.Candidate{}, nil
	}
	if f.kept[want] == nil {
		kept, err := kube.ReadRevision(ctx, r.hub, f.rollout, want)
		if err != nil {
			return staging.Candidate{}, err
		}
		f.kept[want] = kept
	}
	part, ok := f.kept[want].Part(ref)
	if !ok {
		return staging.Candidate{State: staging.Absent}, nil
	}
	return staging.Candidate{State: staging.Present, Rollout: f.name, ID: want, MadeAt: f.kept[want].MadeAt.Time, Part: part}, nil
}

// stage sets the revision that a cluster gets by the rollouts that the binding follows, and returns what to render; nil
// if the present content stays.
func (r *Reader) stage(
	ctx context.Context, row *Rendered, template *unstructured.Unstructured, one *renderer, by following,
) (*unstructured.Unstructured, staging.Material, error) {
	verdict, candidate, err := r.chooseContent(ctx, revision.Part{Object: template}.Ref(), row.Cluster, row.Sent, by)
	switch {
	case errors.Is(err, revision.ErrUnreadable) && !apierrors.IsForbidden(err):
		row.Failed = err.Error()
		return nil, staging.Material{}, nil
	case err != nil:
		return nil, staging.Material{}, err
	case verdict == staging.Keep:
		row.Stays = true
		return nil, staging.Material{}, nil
	case verdict == staging.Live:
		return template, staging.Material{Overrides: one.overrides}, nil
	}
	row.Revision, row.RevisionOf = candidate.ID.Number, candidate.Rollout
	made, err := staging.MaterialOf(candidate.Part, one.part, template, one.scaling)
	if err != nil {
		row.Failed = fmt.Sprintf("r%d: %v", candidate.ID.Number, err)
		return nil, made, nil
	}
	return made.For(row.Sent, candidate.ID, candidate.Rollout), made, nil
}

// revisionsIn says which revision each target of a binding would have; empty without a staged rollout, or if nothing is
// known of it yet.
func (r *Reader) revisionsIn(ctx context.Context, b kube.Binding) (string, error) {
	if !bindings.IsStaged(b) || b.GetUID() == "" {
		return "", nil
	}
	f, err := r.follow(ctx, b, "")
	if err != nil || f.rollout == nil {
		return "", err
	}
	in := map[int64][]string{}
	for _, name := range targetNames(b) {
		number := f.plan.Wanted(name, f.sent[name].ID).Number
		in[number] = append(in[number], name)
	}
	var groups []string
	for _, number := range slices.Sorted(maps.Keys(in)) {
		what := fmt.Sprintf("r%d", number)
		if number == 0 {
			what = "what it has now"
		}
		groups = append(groups, what+" in "+rollouts.Group{Clusters: in[number]}.Names(namedClusters))
	}
	return "Its changes go out in waves: it would have " + strings.Join(groups, "; ") + ".", nil
}

// namedClusters is how many clusters with the same revision are named.
const namedClusters = 10
