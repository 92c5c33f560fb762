package registration

import (
	"cmp"
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
)

// readyPoll is the interval of AwaitReady.
const readyPoll = 200 * time.Millisecond

// progress is how far a member with a certificate has come.
type progress struct {
	// placed is the execution namespace; empty until the hub has created it.
	placed string
	// heard says that the agent has renewed its lease since LastHeard.
	heard bool
	// ready is the Ready condition as the agent reported it; nil if it has not.
	ready   *metav1.Condition
	version string
	// trouble is why the hub could not be asked.
	trouble error
}

// LastHeard returns when the hub last heard an agent of this cluster, for AwaitReady: the zero time if it never did, nil if
// that is not known. It is read before the agent starts, which renews its lease at once and then not for minutes.
func (c *Credentials) LastHeard(ctx context.Context) *metav1.MicroTime {
	hubClient, err := newClient(c.Config())
	if err != nil {
		return nil
	}
	return c.lastHeard(ctx, hubClient)
}

func (c *Credentials) lastHeard(ctx context.Context, hubClient client.Reader) *metav1.MicroTime {
	lease := &coordinationv1.Lease{}
	err := hubClient.Get(ctx, client.ObjectKey{Namespace: contract.ClusterNamespace, Name: c.who.Cluster}, lease)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err): // a cluster that never had the right to renew a lease has none
		return &metav1.MicroTime{}
	case err != nil:
		return nil
	}
	return cmp.Or(lease.Spec.RenewTime, &metav1.MicroTime{})
}

// AwaitReady waits until the hub reports the cluster Ready and has heard its agent after first, and reports each step. Its
// error says which step is missing.
func (c *Credentials) AwaitReady(ctx context.Context, first *metav1.MicroTime, tell func(string)) error {
	hubClient, err := newClient(c.Config())
	if err != nil {
		return err
	}
	return c.awaitReady(ctx, hubClient, first, tell)
}

func (c *Credentials) awaitReady(ctx context.Context, hubClient client.Reader, first *metav1.MicroTime, tell func(string)) error {
	var before progress
	for {
		now := c.look(ctx, hubClient, &first)
		if ctx.Err() != nil {
			return now.orPrevious(before).stuckError(c.who.Cluster)
		}
		if now.placed != "" && before.placed == "" {
			tell("The hub has created the namespace for its Works: " + now.placed)
		}
		if now.heard && !before.heard {
			tell("The hub receives heartbeats of the agent")
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

// look reads the progress from the hub. first is the lease's renewTime by LastHeard, or when first seen: an earlier agent may have
// left an outdated report.
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
		before.trouble = nil // the context's deadline passed
		return before
	}
	return p
}

// stuckError returns an error that says which step is missing, and what to check.
func (p progress) stuckError(cluster string) error {
	switch {
	case p.trouble != nil:
		return fmt.Errorf("%w: it does not answer about cluster %s: %w; check whether it is healthy", ErrUnreachable, cluster, p.trouble)
	case p.placed == "":
		return fmt.Errorf("%w: the hub has not created the namespace for the Works of cluster %s; check whether `hub serve` runs", errStuck, cluster)
	case !p.heard:
		return fmt.Errorf("%w: the hub receives no heartbeats of the agent of cluster %s; check whether the agent runs, and its log", errStuck, cluster)
	case p.ready == nil:
		return fmt.Errorf("%w: the agent of cluster %s has not reported the status of its member; see its log", errStuck, cluster)
	default:
		return fmt.Errorf("%w: the agent of cluster %s reports that its member is not ready: %s", errStuck, cluster, p.ready.Message)
	}
}
