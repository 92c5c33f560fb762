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

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/fleet/registration"
	"fairlead.dev/hub/people/operate"
)

// forgetPoll is how often `hub forget` checks whether the Cluster is gone.
const forgetPoll = 100 * time.Millisecond

// forgetFlags are the flags of `hub forget`.
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
			"come back, it is told that it was retired. A cluster that is alive rather leaves with `agent leave`. A hub that is away\n" +
			"for a moment is asked again.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("name one cluster, as `hub clusters` shows it")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.release && f.force {
				return errors.New("--force and --release exclude each other: --force forgets a cluster whose agent is alive, --release gives up the name of a forgotten one")
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
	f.hub.add(env, cmd)
	fs.BoolVar(&f.force, "force", false, "forget the cluster even if its agent is alive")
	fs.BoolVar(&f.release, "release", false, "give up the name of a cluster that was forgotten, once it is gone")
	fs.DurationVar(&f.timeout, "timeout", time.Minute, "how long to wait until the cluster is gone")
	cmd.ValidArgsFunction = completing(env, &f.hub, oneOf(func(ctx context.Context, o *opened, t typed) ([]string, error) {
		if f.release {
			return forgottenNames(ctx, o, t)
		}
		return clusterNames(ctx, o, t)
	}))
	return cmd
}

func (f *forgetFlags) forget(ctx context.Context, env Environment, hubClient client.Client, name string) error {
	hubAway := &outage{env: env}
	cluster := &clusterv1alpha1.Cluster{}
	err := hubAway.repeat(ctx, func() error { return hubClient.Get(ctx, client.ObjectKey{Name: name}, cluster) })
	if apierrors.IsNotFound(err) {
		if kept, err := keptName(ctx, hubClient, name); err != nil || kept != nil {
			if err == nil {
				say(env.Out, "Cluster %s was forgotten already, at %s by %s; the name is kept for member %s until `hub forget %s --release`",
					name, kept.Data[contract.RetiredAtKey], kept.Data[contract.RetiredByKey], kept.Data[contract.RetiredMemberKey], name)
			}
			return err
		}
		return fmt.Errorf("there is no cluster %s on the hub; `hub clusters` lists them", name)
	}
	if err != nil {
		return fmt.Errorf("reading cluster %s: %w", name, err)
	}
	// If the member does not respond, the agent reports False, and is alive nevertheless.
	if ready := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1alpha1.ClusterReady); ready != nil && ready.Status != metav1.ConditionUnknown && !f.force {
		return fmt.Errorf("the agent of cluster %s is alive: run `agent leave` there, which cleans up, or, if it was stolen, forget it with --force, which leaves everything where it is", name)
	}
	var by string
	for _, step := range []func() error{
		func() (err error) { by, err = operate.WhoAmI(ctx, hubClient); return err },
		func() error { return registration.Forget(ctx, hubClient, hubClient, cluster, by, env.Clock.Now()) },
	} {
		if err := hubAway.repeat(ctx, step); err != nil {
			return err
		}
	}
	say(env.Err, "The agent of cluster %s is locked out; waiting until its Works and its namespace are gone", name)
	gone, err := f.untilGone(ctx, hubAway, hubClient, cluster)
	if err != nil {
		return err
	}
	if !gone {
		return fmt.Errorf("cluster %s is locked out, but not gone after %s: check whether `hub serve` runs, and what `hub clusters describe %s` says", name, f.timeout, name)
	}
	say(env.Out, "Cluster %s is forgotten; the name is kept for member %s until `hub forget %s --release`", name, cmp.Or(cluster.Spec.ID, "nobody"), name)
	return nil
}

// untilGone waits until the Cluster is gone, at most for --timeout, and says whether it is. A newer Cluster of the same
// name does not count.
func (f *forgetFlags) untilGone(ctx context.Context, hubAway *outage, hubClient client.Client, cluster *clusterv1alpha1.Cluster) (bool, error) {
	hubAway.ends = hubAway.env.Clock.Now().Add(f.timeout)
	for {
		is := &clusterv1alpha1.Cluster{}
		err := hubAway.repeat(ctx, func() error {
			return client.IgnoreNotFound(hubClient.Get(ctx, client.ObjectKeyFromObject(cluster), is))
		})
		switch {
		case err != nil:
			return false, fmt.Errorf("waiting until cluster %s is gone: %w", cluster.Name, err)
		case is.UID != cluster.UID: // empty if there is none
			return true, nil
		case !hubAway.env.Clock.Now().Before(hubAway.ends):
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, fmt.Errorf("waiting until cluster %s is gone: %w", cluster.Name, ctx.Err())
		case <-hubAway.env.Clock.After(min(forgetPoll, f.timeout)):
		}
	}
}

// keptName returns the record that reserves the name of a cluster; nil if there is none.
func keptName(ctx context.Context, hubClient client.Client, name string) (*corev1.ConfigMap, error) {
	kept := &corev1.ConfigMap{}
	err := hubClient.Get(ctx, client.ObjectKey{Namespace: contract.ClusterNamespace, Name: contract.RetiredName(name)}, kept)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // nil means that it is not reserved
	}
	if err != nil {
		return nil, fmt.Errorf("looking whether the name %s is kept: %w", name, err)
	}
	return kept, nil
}

// releaseName ends the reservation of a forgotten cluster's name. If the cluster is still being removed, it waits:
// until the cluster is gone nobody can join under the name, and if the hub resumed the removal, it would reserve the
// name again. If the name is reserved although its cluster is not being removed, the reservation ends at once: that is
// how to keep a cluster that somebody started to forget.
func (f *forgetFlags) releaseName(ctx context.Context, env Environment, hubClient client.Client, name string) error {
	hubAway := &outage{env: env}
	cluster := &clusterv1alpha1.Cluster{}
	if err := hubAway.repeat(ctx, func() error {
		return client.IgnoreNotFound(hubClient.Get(ctx, client.ObjectKey{Name: name}, cluster))
	}); err != nil {
		return fmt.Errorf("looking whether cluster %s is gone: %w", name, err)
	}
	removing := registration.BeingRemoved(cluster)
	if removing {
		say(env.Err, "Cluster %s is being removed; waiting until its Works and its namespace are gone", name)
		gone, err := f.untilGone(ctx, hubAway, hubClient, cluster)
		if err != nil {
			return err
		}
		if !gone {
			return fmt.Errorf("cluster %s is still being removed after %s, so its name is not given up: check whether `hub serve` runs, and what `hub clusters describe %s` says, "+
				"then run the same command again", name, f.timeout, name)
		}
	}
	hubAway.ends = time.Time{} // from here on only responses are waited for
	var kept *corev1.ConfigMap
	if err := hubAway.repeat(ctx, func() (err error) { kept, err = keptName(ctx, hubClient, name); return err }); err != nil {
		return err
	}
	if kept == nil && !removing {
		return fmt.Errorf("the name %s is not reserved", name)
	}
	if err := hubAway.repeat(ctx, func() error { return registration.Release(ctx, hubClient, name) }); err != nil {
		return err
	}
	// The name may be in use: by a cluster that stays, or by a member that joined again while the removal was waited
	// for.
	switch err := hubAway.repeat(ctx, func() error { return hubClient.Get(ctx, client.ObjectKey{Name: name}, cluster) }); {
	case apierrors.IsNotFound(err):
		say(env.Out, "The name %s is free", name)
	case err != nil:
		return fmt.Errorf("the name %s is released; checking whether a cluster has it: %w", name, err)
	case removing:
		say(env.Out, "The name %s is no longer reserved, but not free: cluster %s, of member %s, has joined under it meanwhile", name, name, cmp.Or(cluster.Spec.ID, "nobody"))
	default:
		say(env.Out, "The name %s is no longer reserved, but not free: cluster %s, of member %s, has it and stays", name, name, cmp.Or(cluster.Spec.ID, "nobody"))
	}
	return nil
}
