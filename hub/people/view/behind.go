package view

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/people/view/rollouts"
)

// Behind says in a sentence what has not caught up with the author's latest change of an application; empty if
// everything has. A healthy status may be about the previous version.
func (r *Reader) Behind(ctx context.Context, ref Ref) (string, error) {
	b, err := r.RequireBinding(ctx, ref)
	if err != nil {
		return "", err
	}
	if seen := b.BindingStatus().SchedulerObservedGeneration; seen < b.GetGeneration() && b.BindingSpec().Placement != nil {
		return "The scheduler has not looked at the latest change yet.", nil
	}
	if bindings.IsStaged(b) {
		return r.behindRollout(ctx, ref, b)
	}
	rows, err := r.Rendered(ctx, ref)
	if err != nil {
		return "", err
	}
	for _, row := range rows {
		if sentence := behindSentence(row); sentence != "" {
			return sentence, nil
		}
	}
	return "", nil
}

// behindRollout is Behind for an application with staged rollouts. Rendering the live template would not tell, since a
// person may have returned to an older revision.
func (r *Reader) behindRollout(ctx context.Context, ref Ref, b kube.Binding) (string, error) {
	ro, err := r.rollout(ctx, b)
	switch {
	case err != nil:
		return "", err
	case ro == nil:
		return "The hub has not begun its rollout yet.", nil
	}
	template, err := r.Template(ctx, ref)
	if err != nil {
		return "", err
	}
	staged := rollouts.Of(ro, templateOf(b), r.clock.Now())
	if !staged.Done {
		return "Its rollout is not over: " + staged.Line + ".", nil
	}
	if edited, err := r.edited(ctx, template, b, ro); err != nil || edited {
		return "The hub has not made a revision of the latest change yet.", err
	}
	works, err := r.Works(ctx, b)
	if err != nil {
		return "", err
	}
	clusters, err := r.clusters(ctx)
	if err != nil {
		return "", err
	}
	plan, names := revision.NewPlan(ro.RolloutStatus()), executionNamespaces(clusters)
	for i := range works {
		w, name := &works[i], names[works[i].Namespace]
		if have := sentOf(w).ID; have.Hash != plan.Wanted(name, have).Hash {
			return name + " was not sent its revision yet.", nil
		}
		if !isApplied(w) {
			return name + " has not reported on the latest change yet.", nil
		}
	}
	return "", nil
}

// behindSentence says what has not caught up in one cluster.
func behindSentence(row Rendered) string {
	switch {
	case row.Failed != "":
		return fmt.Sprintf("The object cannot be rendered for %s: %s.", row.Cluster, row.Failed)
	case row.Desired == nil:
		return row.Cluster + " still has the object, but should not."
	case row.Sent == nil:
		return row.Cluster + " has not been sent the object yet."
	case row.Sent.Annotations[contract.ManifestHashAnnotation] != row.Desired.Annotations[contract.ManifestHashAnnotation]:
		return row.Cluster + " was not sent the latest change yet."
	}
	if !isApplied(row.Sent) {
		return row.Cluster + " has not reported on the latest change yet."
	}
	return ""
}

// isApplied says whether an agent has applied the current generation of a Work.
func isApplied(w *workv1alpha1.Work) bool {
	applied := meta.FindStatusCondition(w.Status.Conditions, workv1alpha1.WorkApplied)
	return applied != nil && applied.Status == metav1.ConditionTrue && (applied.ObservedGeneration == 0 || applied.ObservedGeneration >= w.Generation)
}
