package view

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/hub/people/view/rollouts"
)

// Staged is an application with a staged rollout.
type Staged struct {
	rollouts.Rollout
	// Object is the StagedRollout, and Of its binding.
	Object kube.Rollout `json:"-"`
	Of     kube.Binding `json:"-"`
}

// Staged reads the staged rollout of an application. If there is none, it returns an error that says what to do.
func (r *Reader) Staged(ctx context.Context, ref Ref) (*Staged, error) {
	b, err := r.RequireBinding(ctx, ref)
	if err != nil {
		return nil, err
	}
	ro, err := r.rollout(ctx, b)
	switch {
	case err != nil:
		return nil, err
	case ro != nil:
		return &Staged{Rollout: rollouts.Of(ro, templateOf(b), r.clock.Now()), Object: ro, Of: b}, nil
	}
	strategy := bindings.StrategyOf(b)
	if strategy == "" {
		return nil, fmt.Errorf("the changes of %s go to all clusters at once: to send them in waves, give its policy the annotation %s with the name of a RolloutStrategy",
			ref, contract.RolloutStrategyAnnotation)
	}
	return nil, fmt.Errorf("the hub has not processed %s with the RolloutStrategy %q yet; if this does not change, see `hub events %s`",
		ref, strategy, rollouts.Arguments(templateOf(b)))
}

// rollout reads the StagedRollout of a binding; nil if there is none.
func (r *Reader) rollout(ctx context.Context, b kube.Binding) (kube.Rollout, error) {
	ro := kube.RolloutsIn(b.GetNamespace()).New()
	err := r.hub.Get(ctx, client.ObjectKeyFromObject(b), ro)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err): // an older hub does not have the kind
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading the rollout %q: %w", b.GetName(), err)
	}
	return ro, nil
}

func templateOf(b workv1alpha2.Binding) applications.Template {
	resource := &b.BindingSpec().Resource
	return applications.Template{APIVersion: resource.APIVersion, Kind: resource.Kind, Namespace: resource.Namespace, Name: resource.Name}
}

// AllStaged reads the rollouts of a scope, sorted by namespace, kind and name.
func (r *Reader) AllStaged(ctx context.Context, scope Scope) ([]Staged, error) {
	var out []Staged
	type pair struct {
		kube.RolloutKind
		of kube.BindingKind
	}
	kinds := []pair{{kube.StagedRollouts(), kube.ResourceBindings()}}
	if scope.Namespace == "" {
		kinds = append(kinds, pair{kube.ClusterStagedRollouts(), kube.ClusterResourceBindings()})
	}
	for _, kind := range kinds {
		all, err := kind.List(ctx, r.hub, client.InNamespace(scope.Namespace))
		if err != nil {
			return nil, err
		}
		if len(all) == 0 {
			continue
		}
		bound, err := kind.of.List(ctx, r.hub, client.InNamespace(scope.Namespace))
		if err != nil {
			return nil, err
		}
		known := make(map[client.ObjectKey]kube.Binding, len(bound))
		for _, b := range bound {
			known[client.ObjectKeyFromObject(b)] = b
		}
		for _, ro := range all {
			if b := known[client.ObjectKeyFromObject(ro)]; b != nil {
				out = append(out, Staged{Rollout: rollouts.Of(ro, templateOf(b), r.clock.Now()), Object: ro, Of: b})
			}
		}
	}
	slices.SortFunc(out, func(a, b Staged) int {
		return applications.Compare(applications.Application{Template: a.Template}, applications.Application{Template: b.Template})
	})
	return out, nil
}

// StagedClusters reads the state of each target of a rollout. If the person may not read something, it returns the
// error together with what is known without it.
func (r *Reader) StagedClusters(ctx context.Context, s *Staged) ([]rollouts.Cluster, error) {
	sent, err := r.sent(ctx, s.Of)
	return rollouts.Clusters(s.Object.RolloutStatus(), targetNames(s.Of), sent), err
}

func targetNames(b workv1alpha2.Binding) []string {
	return bindings.TargetNames(bindings.Targets(b.BindingSpec()))
}

// CountRevisions sets how many clusters have each revision.
func (r *Reader) CountRevisions(ctx context.Context, s *Staged) error {
	sent, err := r.sent(ctx, s.Of)
	if err != nil {
		return err
	}
	have := make(map[string]int64, len(sent))
	for name, one := range sent {
		have[name] = one.ID.Number
	}
	s.Count(have)
	return nil
}

// sent reads the revisions of a binding's Works, without their manifests.
func (r *Reader) sent(ctx context.Context, b kube.Binding) (map[string]rollouts.Sent, error) {
	id := bindings.IDOf(b)
	if id == "" {
		return nil, nil
	}
	clusters, err := r.clusters(ctx)
	if err != nil {
		return nil, err
	}
	clusterOf := executionNamespaces(clusters)
	out := map[string]rollouts.Sent{}
	err = listPages(ctx, r.hub, func() *metav1.PartialObjectMetadataList {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(workv1alpha1.GroupVersion.WithKind("WorkList"))
		return list
	}, func(list *metav1.PartialObjectMetadataList) {
		for i := range list.Items {
			work := &list.Items[i]
			if name := clusterOf[work.Namespace]; name != "" && work.DeletionTimestamp == nil && bindings.IsOwn(b, work) {
				out[name] = sentOf(work)
			}
		}
	}, client.MatchingLabels{bindings.IDLabel(b.GetNamespace()): id})
	if err != nil {
		return nil, fmt.Errorf("listing works: %w", err)
	}
	items := b.BindingStatus().AggregatedStatus
	for i := range items {
		if sent, ok := out[items[i].ClusterName]; ok {
			sent.PodReasons = items[i].PodReasons
			out[items[i].ClusterName] = sent
		}
	}
	return out, nil
}

// executionNamespaces returns the clusters by execution namespace.
func executionNamespaces(clusters []*clusterv1alpha1.Cluster) map[string]string {
	out := make(map[string]string, len(clusters))
	for _, c := range clusters {
		out[ExecutionNamespace(c)] = c.Name
	}
	return out
}

// sentOf returns the revision of a Work.
func sentOf(work metav1.Object) rollouts.Sent {
	out := rollouts.Sent{ID: revision.Parse(work.GetAnnotations()[contract.RevisionAnnotation])}
	if since, err := time.Parse(time.RFC3339, work.GetAnnotations()[contract.RevisionSinceAnnotation]); err == nil {
		out.Since = since
	}
	return out
}

// Planned returns the waves in which a change of an application would be rolled out now, with the given strategy or, if
// it is nil, the present one.
func (r *Reader) Planned(ctx context.Context, ref Ref, strategy *fairleadv1alpha1.RolloutStrategySpec) ([]rollouts.PlannedWave, error) {
	b, err := r.RequireBinding(ctx, ref)
	if err != nil {
		return nil, err
	}
	if strategy == nil {
		name := bindings.StrategyOf(b)
		if name == "" {
			return nil, fmt.Errorf("the changes of %s go to all clusters at once; name a file with a RolloutStrategy by -f to see what it would do", ref)
		}
		found := &fairleadv1alpha1.RolloutStrategy{}
		if err := r.hub.Get(ctx, client.ObjectKey{Name: name}, found); err != nil {
			return nil, fmt.Errorf("reading the RolloutStrategy %q: %w", name, err)
		}
		strategy = &found.Spec
	}
	all, err := r.clusters(ctx)
	if err != nil {
		return nil, err
	}
	known := make(map[string]*clusterv1alpha1.Cluster, len(all))
	for _, c := range all {
		known[c.Name] = c
	}
	var targets []*clusterv1alpha1.Cluster
	for _, name := range targetNames(b) {
		c := known[name]
		if c == nil {
			c = &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
		}
		targets = append(targets, c)
	}
	return rollouts.Planned(*strategy, string(b.GetUID()), targets), nil
}
