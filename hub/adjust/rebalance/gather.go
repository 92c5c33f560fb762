package rebalance

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1alpha1 "fairlead.dev/common/api/apps/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// binding returns the binding of a workload, to be changed, or nil if no policy places
// it. As that is never asked again, the API server itself is asked before it is said.
func (r *Reconciler) binding(ctx context.Context, workload appsv1alpha1.ObjectReference) (kube.Binding, error) {
	kind := kube.ResourceBindings()
	if workload.Namespace == "" {
		kind = kube.ClusterResourceBindings()
	}
	key := client.ObjectKey{Namespace: workload.Namespace, Name: contract.BindingName(workload.Kind, workload.Name)}
	for _, reader := range []client.Reader{r.hubClient, r.liveReader} {
		b := kind.New()
		err := reader.Get(ctx, key, b)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, fmt.Errorf("reading %s %q: %w", kind.Kind, key.Name, err)
		case isPlaced(b, workload):
			return b, nil
		}
	}
	return nil, nil
}
