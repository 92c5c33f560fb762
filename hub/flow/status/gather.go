package status

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/disruption"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/status/aggregate"
)

// binding returns a binding, which the caller may modify; nil if it does not exist.
func (r *Reconciler) binding(ctx context.Context, key types.NamespacedName) (kube.Binding, error) {
	kind := kube.ResourceBindings()
	if key.Namespace == "" {
		kind = kube.ClusterResourceBindings()
	}
	b := kind.New()
	err := r.hubClient.Get(ctx, key, b)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading %s %q: %w", kind.Kind, key.Name, err)
	}
	b, ok := r.bindings.Latest(key, b, err == nil)
	if !ok {
		return nil, nil
	}
	return b, nil
}

// gather returns what the status of a binding is made of: what its Works report and whom not to believe, which known remembers. It says, too,
// how long to wait for Works that are still to be rendered; 0 if for none.
func (r *Reconciler) gather(ctx context.Context, key types.NamespacedName, b kube.Binding) (in aggregate.Input, known *memory, unrendered time.Duration, err error) {
	reports, err := r.reports(ctx, b)
	if err != nil {
		return in, nil, 0, err
	}
	silent, err := r.silent(ctx, reports)
	if err != nil {
		return in, nil, 0, err
	}
	unrendered = r.renders.wait(key, len(reports), r.clock.Now())
	now := r.clock.Now()
	known = r.known.of(key, r.rulesOf(b), reports, now)
	return aggregate.Input{
		Generation: b.GetGeneration(), Created: b.GetCreationTimestamp().Time, Spec: b.BindingSpec(), Status: b.BindingStatus(),
		Reports: reports, Silent: silent, LeftOut: known.known(now), Unrendered: unrendered > 0, Now: now,
	}, known, unrendered, nil
}

// reports returns the Works of a binding, not to be changed.
func (r *Reconciler) reports(ctx context.Context, b kube.Binding) ([]aggregate.Report, error) {
	works, err := kube.WorksOf(ctx, r.hubClient, b)
	if err != nil {
		return nil, err
	}
	var out []aggregate.Report
	for _, work := range works {
		if cluster, ok := contract.ClusterOf(r.prefix, work.Namespace); ok {
			out = append(out, aggregate.Report{Cluster: cluster, Work: work})
		}
	}
	return out, nil
}

// silent returns which clusters of the reports are silent, and since when.
func (r *Reconciler) silent(ctx context.Context, reports []aggregate.Report) (map[string]time.Time, error) {
	clusters, err := kube.ClustersNamed(ctx, r.hubClient, func(yield func(string) bool) {
		for i := range reports {
			if !yield(reports[i].Cluster) {
				return
			}
		}
	})
	if err != nil {
		return nil, err
	}
	out := map[string]time.Time{}
	for name, c := range clusters { // a deleted cluster is not among them; its Works are about to be deleted, too
		if since := disruption.SilentSince(c); !since.IsZero() {
			out[name] = since
		}
	}
	return out, nil
}

// template reads a template from the API server; nil if it was deleted or replaced by another of the same name.
func (r *Reconciler) template(ctx context.Context, ref workv1alpha2.ObjectReference) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kindOf(ref))
	err := r.liveReader.Get(ctx, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, u)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading %s %q: %w", ref.Kind, ref.Name, err)
	case u.GetUID() != ref.UID:
		return nil, nil
	}
	return u, nil
}

func kindOf(ref workv1alpha2.ObjectReference) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
}
