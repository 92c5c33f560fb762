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

// binding returns a binding, to be changed at will; nil if there is none.
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

// silent says since when the clusters of these reports are silent, of those that are.
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
	for name, c := range clusters { // of one that is no more the Works are about to go
		if since := disruption.SilentSince(c); !since.IsZero() {
			out[name] = since
		}
	}
	return out, nil
}

// template reads a template from the API server; nil if it is not there any more, or
// is another of the same name.
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
