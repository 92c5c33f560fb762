package registration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// OnRetire is what becomes of the objects if the hub forgets this member, as it was told at
// join: Keep or Remove.
func (c *Credentials) OnRetire() string {
	if c.who.OnRetire == Remove {
		return Remove
	}
	return Keep
}

// Retire notes that the hub forgot this member. An agent that starts again must not go on as
// if nothing had been said.
func (c *Credentials) Retire(ctx context.Context, retired *RetiredError) error {
	if err := c.state.writeJSON(retiredFile, retired); err != nil || c.secretStore == nil {
		return err
	}
	return c.secretStore.Save(ctx, c.state.dir)
}

// Reinstated waits, if the hub had forgotten this member, until it knows it again. It returns
// a RetiredError if the hub still says that it does not.
func (c *Credentials) Reinstated(ctx context.Context) error {
	raw, err := c.state.read(retiredFile)
	if raw == nil || err != nil {
		return err
	}
	reported := ""
	for {
		is, retired, err := c.ask(ctx)
		reason := "the hub gives it no rights"
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // Told to stop.
		case is == gone:
			return retired
		case err != nil:
			reason = err.Error()
		case is == known:
			return c.state.remove(retiredFile)
		default:
			// A hub that was restored from a backup does not know that it retired this cluster, and may call its agent.
			switch rejoined := c.rejoin(ctx); {
			case rejoined == nil:
				continue
			case errors.Is(rejoined, ErrJoinedAgain):
				return rejoined
			case !errors.Is(rejoined, errNoCall):
				reason = rejoined.Error()
			}
		}
		if reason != reported {
			reported = reason
			ctrl.LoggerFrom(ctx).Info("The hub had retired this cluster; waiting for what it says now", "Cluster", c.who.Cluster, "reason", reason)
		}
		select {
		case <-ctx.Done():
		case <-c.clock.After(wait.Jitter(callEvery, 0.5)):
		}
	}
}

// leavePoll is how often an agent that leaves asks whether the hub let it go.
const leavePoll = 250 * time.Millisecond

// Leave asks the hub to forget this member, and waits until it did. A member that it forgot
// already has left.
func (c *Credentials) Leave(ctx context.Context) error {
	is, _, err := c.ask(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	case is == gone:
		return nil
	case is != known:
		return fmt.Errorf("%w: it gives the agent of cluster %s no rights, so it cannot be asked", ErrDenied, c.who.Cluster)
	}
	if err := c.askToLeave(ctx); err != nil {
		return err
	}
	for {
		if is, _, err = c.ask(ctx); err == nil && is == gone {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the hub to let cluster %s go: %w; look whether `hub serve` runs, then run the same command again",
				c.who.Cluster, errors.Join(ctx.Err(), err))
		case <-c.clock.After(leavePoll):
		}
	}
}

// Left returns a RetiredError if the hub forgot this member already.
func (c *Credentials) Left(ctx context.Context) error {
	_, retired, err := c.ask(ctx)
	if retired != nil {
		return retired
	}
	return err
}

// askToLeave says on the Cluster that its member leaves: its status is what an agent may write.
func (c *Credentials) askToLeave(ctx context.Context) error {
	hubClient, err := newClient(c.Config())
	if err != nil {
		return err
	}
	cluster := &clusterv1alpha1.Cluster{}
	if err := hubClient.Get(ctx, client.ObjectKey{Name: c.who.Cluster}, cluster); err != nil {
		return fmt.Errorf("reading cluster %q: %w", c.who.Cluster, err)
	}
	edit, err := kube.Begin(cluster)
	if err != nil {
		return fmt.Errorf("editing cluster %q: %w", c.who.Cluster, err)
	}
	meta.SetStatusCondition(&cluster.Status.Conditions, metav1.Condition{
		Type: clusterv1alpha1.ClusterLeaveRequested, Status: metav1.ConditionTrue, Reason: clusterv1alpha1.ReasonAgentLeaves,
		ObservedGeneration: cluster.Generation, Message: "The member leaves: `agent leave` was run there.",
	})
	if _, err := edit.Commit(ctx, hubClient, contract.FieldManagerAgent); err != nil {
		return fmt.Errorf("asking the hub to let cluster %q go: %w", c.who.Cluster, err)
	}
	return nil
}

// Forget removes what the agent has of the hub.
func (c *Credentials) Forget() error {
	if err := c.state.remove(KubeconfigFile, keyFile, renewalKeyFile, retiredFile, identityFile, lockFile); err != nil {
		return err
	}
	// What an agent that was killed left where it answered, and where its journal was. What
	// else is in the directory is not ours, and keeps it.
	_ = os.Remove(c.state.path("agent.sock"))
	_ = os.Remove(c.state.path("journal"))
	_ = os.Remove(c.state.dir)
	return nil
}
