package registration

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
)

// readyPoll is the interval of AwaitReady.
const readyPoll = 200 * time.Millisecond

// progress is the progress of a member that has its certificate.
type progress struct {
	// placed is the execution namespace, once the hub has made it.
	placed string
	// heard says that the agent has renewed its lease since AwaitReady began.
	heard bool
	// ready is the Ready condition of the Cluster as the agent reported it; nil if it has not.
	ready   *metav1.Condition
	version string
	// trouble is the error if the hub could not be asked.
	trouble error
}

// AwaitReady waits until the hub reports the cluster Ready, and reports each step. Its error says which step is missing.
func (c *Credentials) AwaitReady(ctx context.Context, tell func(string)) error {
	hubClient, err := newClient(c.Config())
	if err != nil {
		return err
	}
	var first *metav1.MicroTime
	var before progress
	for {
		now := c.look(ctx, hubClient, &first)
		if ctx.Err() != nil {
			return now.orPrevious(before).stuckError(c.who.Cluster)
		}
		if now.placed != "" && before.placed == "" {
			tell("The hub has the place for its Works: namespace " + now.placed)
		}
		if now.heard && !before.heard {
			tell("The hub hears the agent")
		}
		if now.done() {
			tell(fmt.Sprintf("The hub reports cluster %s Ready (Kubernetes %s)", c.who.Cluster, now.version))
			return nil
		}
		before = now
		select {
		case <-ctx.Done():
			return now.stuckError(c.who.Cluster)
		case <-c.clock.After(readyPoll):
		}
	}
}

// look asks the hub for the progress. First is the renewTime of the lease when it was first seen: an earlier agent may have left a report
// that is outdated.
func (c *Credentials) look(ctx context.Context, hubClient client.Reader, first **metav1.MicroTime) progress {
	var out progress
	cluster := &clusterv1alpha1.Cluster{}
	if out.trouble = hubClient.Get(ctx, client.ObjectKey{Name: c.who.Cluster}, cluster); out.trouble != nil {
		return out
	}
	out.placed = cluster.Annotations[contract.ExecutionNamespaceAnnotation]
	out.ready = meta.FindStatusCondition(cluster.Status.Conditions, clusterv1alpha1.ClusterReady)
	out.version = cluster.Status.KubernetesVersion
	lease := &coordinationv1.Lease{}
	if out.trouble = hubClient.Get(ctx, client.ObjectKey{Namespace: contract.ClusterNamespace, Name: c.who.Cluster}, lease); out.trouble != nil {
		return out
	}
	renewed := lease.Spec.RenewTime
	if renewed == nil {
		renewed = &metav1.MicroTime{}
	}
	if *first == nil {
		*first = renewed
	}
	out.heard = !renewed.Equal(*first)
	return out
}

func (p progress) done() bool {
	return p.heard && p.ready != nil && p.ready.Status == metav1.ConditionTrue
}

func (p progress) orPrevious(before progress) progress {
	if p.trouble != nil {
		before.trouble = nil // it is that the time is over
		return before
	}
	return p
}

// stuckError says which step is missing, and what to check.
func (p progress) stuckError(cluster string) error {
	switch {
	case p.trouble != nil:
		return fmt.Errorf("%w: it does not say how cluster %s is: %w; look whether it is well", ErrUnreachable, cluster, p.trouble)
	case p.placed == "":
		return fmt.Errorf("%w: the hub has not made the place for the Works of cluster %s; look whether `hub serve` runs", errStuck, cluster)
	case !p.heard:
		return fmt.Errorf("%w: the hub does not hear the agent of cluster %s; look whether the agent runs, and into its log", errStuck, cluster)
	case p.ready == nil:
		return fmt.Errorf("%w: the agent of cluster %s has not reported how its member is; look into its log", errStuck, cluster)
	default:
		return fmt.Errorf("%w: the agent of cluster %s reports that its member is not ready: %s", errStuck, cluster, p.ready.Message)
	}
}
