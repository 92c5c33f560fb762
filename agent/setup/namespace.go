package setup

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
)

// Backoff between requests for the execution namespace. The hub names it a moment after it approved the agent; a hub
// that cannot be reached takes longer.
const (
	firstAsk = 50 * time.Millisecond
	lastAsk  = 10 * time.Second
)

// executionNamespace asks the hub for the execution namespace of the cluster until it is known. It logs the reason
// for waiting when that changes.
func executionNamespace(ctx context.Context, hub client.Reader, cluster string, clk clock.Clock) (string, error) {
	log := ctrl.LoggerFrom(ctx)
	told := ""
	delay := firstAsk
	for {
		namespace, waiting := askNamespace(ctx, hub, cluster)
		if waiting == "" {
			return namespace, nil
		}
		// A short wait is not worth a log line.
		if waiting != told && delay > time.Second {
			told = waiting
			log.Info("Waiting for the hub", "Cluster", cluster, "reason", waiting)
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-clk.After(wait.Jitter(delay, 0.5)):
		}
		delay = min(2*delay, lastAsk)
	}
}

// askNamespace asks once. If there is no answer yet, waiting says why.
func askNamespace(ctx context.Context, hub client.Reader, cluster string) (namespace, waiting string) {
	found := &clusterv1alpha1.Cluster{}
	err := hub.Get(ctx, client.ObjectKey{Name: cluster}, found)
	switch {
	case apierrors.IsNotFound(err):
		return "", fmt.Sprintf("the hub does not know the cluster %q; if it was removed, join again", cluster)
	case apierrors.IsForbidden(err):
		return "", fmt.Sprintf("the hub has not given the agent of %q its rights; if it was removed, join again, and if another agent has this cluster, stop this one", cluster)
	case apierrors.IsUnauthorized(err):
		return "", "the hub does not accept the agent's certificate; if it expired or the hub is a new one, join again"
	case err != nil:
		return "", "the hub cannot be reached: " + err.Error()
	}
	namespace = found.Annotations[contract.ExecutionNamespaceAnnotation]
	if namespace == "" {
		return "", "the hub has not made the execution namespace yet"
	}
	return namespace, ""
}
