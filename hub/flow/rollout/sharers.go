package rollout

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/revision"
)

// sharer is another binding with a rollout that needs the same part.
type sharer struct {
	binding kube.Binding
	// clusters are where it needs the part.
	clusters []workv1alpha2.TargetCluster
	// plan is the plan of its rollout; if there is none yet, the zero value, which changes nothing.
	plan  revision.Plan
	works map[string]*workv1alpha1.Work // by cluster
}

// heldUp returns the clusters in which a part is behind the application and a sharer does not define its revision, so that the binding
// stage leaves it unchanged. It reads no sharer while the part is nowhere behind.
func (r *reconciler) heldUp(ctx context.Context, s *scope, p *part, sharers []sharer) (map[string]bool, error) {
	behind := map[string]bool{}
	for name, work := range p.works {
		if app := s.works[name]; len(sharers) > 0 && app != nil && isBehind(work, revision.Parse(app.Annotations[contract.RevisionAnnotation])) {
			behind[name] = true
		}
	}
	if len(behind) == 0 {
		return nil, nil
	}
	held := map[string]bool{}
	for i := range sharers {
		other := &sharers[i]
		if err := r.readSharer(ctx, other); err != nil {
			return nil, err
		}
		for _, c := range other.clusters {
			held[c.Name] = held[c.Name] || behind[c.Name] && !other.says(c.Name)
		}
	}
	return held, nil
}

// readSharer reads the rollout of a sharer and its Works, from the cache.
func (r *reconciler) readSharer(ctx context.Context, other *sharer) error {
	kind := kube.RolloutsIn(other.binding.GetNamespace())
	rollout := kind.New()
	err := r.hubClient.Get(ctx, client.ObjectKeyFromObject(other.binding), rollout, client.UnsafeDisableDeepCopy)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("reading %s %q: %w", kind.Kind, other.binding.GetName(), err)
	case err == nil:
		if owner := metav1.GetControllerOf(rollout); owner == nil || owner.UID == other.binding.GetUID() {
			other.plan = revision.NewPlan(rollout.RolloutStatus())
		}
	}
	other.works, err = r.worksOf(ctx, other.binding)
	return err
}

// says returns whether the rollout of a sharer defines the revision of the part in a cluster, by the rules of the binding stage. If the
// sharer's own Work there is from before its rollout, and its plan does not name the cluster, the binding stage goes by the part's content;
// here that counts as undefined.
func (o *sharer) says(cluster string) bool {
	is := func(t workv1alpha2.TargetCluster) bool { return t.Name == cluster }
	if !slices.ContainsFunc(bindings.Targets(o.binding.BindingSpec()), is) {
		return false
	}
	has := revision.ID{}
	if work := o.works[cluster]; work != nil {
		has = revision.Parse(work.Annotations[contract.RevisionAnnotation])
	}
	want := o.plan.Wanted(cluster, has)
	return !want.Zero() && (want == o.plan.Sent(cluster) || has.Number >= want.Number)
}
