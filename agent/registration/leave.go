package registration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// leavePoll is the interval at which a leaving agent checks whether the hub has forgotten the cluster.
const leavePoll = 250 * time.Millisecond

// Leave asks the hub to forget this member, and waits until it has. If the hub has forgotten it already, Leave
// succeeds.
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
			return fmt.Errorf("waiting for the hub to release cluster %s: %w; check whether `hub serve` runs, then run the same command again",
				c.who.Cluster, errors.Join(ctx.Err(), err))
		case <-c.clock.After(leavePoll):
		}
	}
}

// Left returns a RetiredError if the hub has already forgotten this member.
func (c *Credentials) Left(ctx context.Context) error {
	_, retired, err := c.ask(ctx)
	if retired != nil {
		return retired
	}
	return err
}

// askToLeave sets the condition of the Cluster with which a member asks to leave: an agent may only write the status.
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

// Stage is the state of a state directory between joining and leaving.
type Stage int

const (
	// StageNone means that the directory is empty.
	StageNone Stage = iota
	// StageBegun means that a join was begun but never finished, and no agent has run with the directory.
	StageBegun
	// StageJoined means that the member has joined.
	StageJoined
	// StageLeft means that the member has left; removing its files was interrupted.
	StageLeft
)

// StageOf returns the stage of a state directory and its cluster.
func StageOf(stateDir string) (stage Stage, cluster string, err error) {
	s := state{dir: stateDir}
	who, err := s.identity()
	if who == nil || err != nil {
		return StageNone, "", err
	}
	begun, err := s.isUnfinishedJoin(who)
	switch {
	case err != nil:
		return StageNone, "", err
	case who.Left:
		return StageLeft, who.Cluster, nil
	case begun:
		return StageBegun, who.Cluster, nil
	default:
		return StageJoined, who.Cluster, nil
	}
}

// Forget removes the agent's credentials and journal from a state directory. If it is interrupted, the directory is
// marked as left, so that the rest can be removed later.
func Forget(stateDir string) error {
	s := state{dir: stateDir}
	who, err := s.identity()
	if err != nil {
		return err
	}
	if who != nil {
		if !who.Left {
			who.Left = true
			if err := s.writeJSON(identityFile, who); err != nil {
				return err
			}
		}
		if err := s.clear(who); err != nil {
			return err
		}
	}
	if err := s.removeBegun(); err != nil {
		return err
	}
	if err := s.remove(identityFile, lockFile); err != nil {
		return err
	}
	// Remove the socket of a killed agent and the empty directories. If the directory contains files of others, it
	// stays.
	_ = os.Remove(s.path("agent.sock"))
	_ = os.Remove(s.path(journalDir))
	_ = os.Remove(s.dir)
	return nil
}
