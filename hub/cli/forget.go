package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/fleet/registration"
	"fairlead.dev/hub/people/operate"
)

// forgetPoll is how often `hub forget` looks whether the Cluster is gone.
const forgetPoll = 100 * time.Millisecond

// forgetFlags say what to forget and how.
type forgetFlags struct {
	hub     hubFlags
	force   bool
	release bool
	timeout time.Duration
}

func newForget(env Environment) *cobra.Command {
	var f forgetFlags
	cmd := &cobra.Command{
		Use:   "forget NAME",
		Short: "Remove a cluster that will not come back, and lock its agent out at once",
		Long: "Remove a cluster that will not come back. Its agent is refused at once, even with a valid certificate; its Works\n" +
			"and its namespace go without waiting for it. The name is kept for that member until it is released: should its agent\n" +
			"come back, it is told that it was retired. A cluster that is alive rather leaves with `agent leave`.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("name one cluster, as `hub clusters` shows it")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.release && f.force {
				return errors.New("--force forgets a cluster whose agent is alive, --release gives up the name of one that was forgotten: leave one of them out")
			}
			if f.timeout <= 0 {
				return fmt.Errorf("--timeout %s is not positive", f.timeout)
			}
			hubClient, err := f.hub.connect(env)
			if err != nil {
				return err
			}
			if f.release {
				return f.releaseName(cmd.Context(), env, hubClient, args[0])
			}
			return f.forget(cmd.Context(), env, hubClient, args[0])
		},
	}
	fs := cmd.Flags()
	f.hub.add(fs)
	fs.BoolVar(&f.force, "force", false, "do it even though the agent is alive")
	fs.BoolVar(&f.release, "release", false, "give up the name of a cluster that was forgotten, once it is gone")
	fs.DurationVar(&f.timeout, "timeout", time.Minute, "how long to wait until the cluster is gone")
	return cmd
}

func (f *forgetFlags) forget(ctx context.Context, env Environment, hubClient client.Client, name string) error {
	cluster := &clusterv1alpha1.Cluster{}
	err := hubClient.Get(ctx, client.ObjectKey{Name: name}, cluster)
	if apierrors.IsNotFound(err) {
		if kept, err := keptName(ctx, hubClient, name); err != nil || kept != nil {
			if err == nil {
				say(env.Out, "Cluster %s was forgotten already, at %s by %s; the name is kept for member %s until `hub forget %s --release`",
					name, kept.Data[contract.RetiredAtKey], kept.Data[contract.RetiredByKey], kept.Data[contract.RetiredMemberKey], name)
			}
			return err
		}
		return fmt.Errorf("there is no cluster %s on the hub; `hub clusters` shows those that there are", name)
	}
	if err != nil {
		return fmt.Errorf("reading cluster %s: %w", name, err)
	}
	// An agent that says that its member does not answer is alive as well.
	if ready := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1alpha1.ClusterReady); ready != nil && ready.Status != metav1.ConditionUnknown && !f.force {
		return fmt.Errorf("the agent of cluster %s is alive: run `agent leave` there, which cleans up, or forget it with --force, which leaves everything where it is: so if it was stolen", name)
	}
	by, err := operate.WhoAmI(ctx, hubClient)
	if err != nil {
		return err
	}
	if err := registration.Forget(ctx, hubClient, hubClient, cluster, by, env.Clock.Now()); err != nil {
		return err
	}
	say(env.Err, "The agent of cluster %s is locked out; waiting until its Works and its namespace are gone", name)
	gone, err := f.untilGone(ctx, hubClient, cluster)
	if err != nil {
		return err
	}
	if !gone {
		return fmt.Errorf("cluster %s is locked out, but not gone after %s: look whether `hub serve` runs, and what `hub clusters describe %s` says", name, f.timeout, name)
	}
	say(env.Out, "Cluster %s is forgotten; the name is kept for member %s until `hub forget %s --release`", name, cmp.Or(cluster.Spec.ID, "nobody"), name)
	return nil
}

// untilGone waits for the Cluster to be gone, at most as long as --timeout, and says whether it is. One that has joined by its name since is another.
func (f *forgetFlags) untilGone(ctx context.Context, hubClient client.Client, cluster *clusterv1alpha1.Cluster) (bool, error) {
	err := wait.PollUntilContextTimeout(ctx, forgetPoll, f.timeout, true, func(ctx context.Context) (bool, error) {
		is := &clusterv1alpha1.Cluster{}
		err := hubClient.Get(ctx, client.ObjectKeyFromObject(cluster), is)
		return apierrors.IsNotFound(err) || err == nil && is.UID != cluster.UID, client.IgnoreNotFound(err)
	})
	switch {
	case err == nil:
		return true, nil
	case wait.Interrupted(err) && ctx.Err() == nil:
		return false, nil
	}
	return false, fmt.Errorf("waiting until cluster %s is gone: %w", cluster.Name, err)
}

// keptName returns what keeps the name of a cluster; nil if nothing does.
func keptName(ctx context.Context, hubClient client.Client, name string) (*corev1.ConfigMap, error) {
	kept := &corev1.ConfigMap{}
	err := hubClient.Get(ctx, client.ObjectKey{Namespace: contract.ClusterNamespace, Name: contract.RetiredName(name)}, kept)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // that there is none is an answer
	}
	if err != nil {
		return nil, fmt.Errorf("looking whether the name %s is kept: %w", name, err)
	}
	return kept, nil
}

// releaseName gives up the name of a cluster that was forgotten. One that is just being removed is waited for: until it is gone nobody can join
// by its name, and should the hub begin its removal once more, the name would be kept again. A name that is kept though nobody
// removes its cluster is given up at once: that is how a cluster is kept which somebody began to forget.
func (f *forgetFlags) releaseName(ctx context.Context, env Environment, hubClient client.Client, name string) error {
	cluster := &clusterv1alpha1.Cluster{}
	if err := hubClient.Get(ctx, client.ObjectKey{Name: name}, cluster); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("looking whether cluster %s is gone: %w", name, err)
	}
	removing := registration.BeingRemoved(cluster)
	if removing {
		say(env.Err, "Cluster %s is just being removed; waiting until its Works and its namespace are gone", name)
		gone, err := f.untilGone(ctx, hubClient, cluster)
		if err != nil {
			return err
		}
		if !gone {
			return fmt.Errorf("cluster %s is still being removed after %s, so its name is not given up: look whether `hub serve` runs, and what `hub clusters describe %s` says, "+
				"then run the same command again", name, f.timeout, name)
		}
	}
	kept, err := keptName(ctx, hubClient, name)
	if err != nil {
		return err
	}
	if kept == nil && !removing {
		return fmt.Errorf("the name %s is not kept for anybody", name)
	}
	if err := registration.Release(ctx, hubClient, name); err != nil {
		return err
	}
	// Whoever was here before has the name: a cluster that stays, or a member that joined again while the one before was waited for.
	switch err := hubClient.Get(ctx, client.ObjectKey{Name: name}, cluster); {
	case apierrors.IsNotFound(err):
		say(env.Out, "The name %s is free", name)
	case err != nil:
		return fmt.Errorf("the name %s is given up; looking whether a cluster has it: %w", name, err)
	case removing:
		say(env.Out, "The name %s is kept for nobody any more, and not free: cluster %s, of member %s, has joined by it meanwhile", name, name, cmp.Or(cluster.Spec.ID, "nobody"))
	default:
		say(env.Out, "The name %s is kept for nobody any more, and not free: cluster %s, of member %s, has it and stays", name, name, cmp.Or(cluster.Spec.ID, "nobody"))
	}
	return nil
}
