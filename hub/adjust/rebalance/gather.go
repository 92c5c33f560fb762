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

// binding returns a copy of a workload's binding; nil if no policy places it. That result is final, so it is confirmed
// by a live read.
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
