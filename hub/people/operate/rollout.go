package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/retry"

	"sigs.k8s.io/controller-runtime/pkg/client"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/people/view/rollouts"
)

// Rollout steers the rollout of the binding with this key. Its operations are idempotent.
type Rollout struct {
	// Hub is the client of the person, and FieldManager its field manager.
	Hub          client.Client
	FieldManager string
	client.ObjectKey
	// Seen is the newest revision that the person looked at; 0 means the one that is read first. Operations concern
	// that revision: if there is a newer one at the time of the write, all but Pause are refused.
	Seen int64
}

// refusal is the reason why an operation would have no effect at present.
type refusal struct{ why string }

// Error implements error.
func (r refusal) Error() string { return r.why }

func refuse(format string, args ...any) error { return refusal{fmt.Sprintf(format, args...)} }

// RefusalOf returns the reason why an operation would have no effect; false if the error is another one.
func RefusalOf(err error) (string, bool) {
	refused, ok := errors.AsType[refusal](err)
	return refused.why, ok
}

// Pause pauses or resumes the rollout of the newest revision. It says whether that changed anything.
func (r Rollout) Pause(ctx context.Context, paused bool) (bool, error) {
	return r.write(ctx, "pausing", func(spec *fairleadv1alpha1.StagedRolloutSpec, _ *fairleadv1alpha1.StagedRolloutStatus) error {
		spec.Paused = paused
		return nil
	})
}

// Approve approves a wave of the newest revision; if the name is empty, the one that waits for approval. It returns the
// approval, and whether that changed anything. The wave is chosen only once: if somebody else approves it meanwhile,
// the next wave that waits is not the one that the person looked at.
func (r Rollout) Approve(ctx context.Context, wave string) (fairleadv1alpha1.WaveApproval, bool, error) {
	var approved fairleadv1alpha1.WaveApproval
	changed, err := r.edit(ctx, "approving a wave of", func(spec *fairleadv1alpha1.StagedRolloutSpec, status *fairleadv1alpha1.StagedRolloutStatus) error {
		var err error
		approved, err = approveIn(spec, status, wave)
		if err == nil {
			wave = approved.Wave
		}
		return err
	})
	return approved, changed, err
}

// approveIn adds an approval to a spec, and drops those without effect.
func approveIn(spec *fairleadv1alpha1.StagedRolloutSpec, status *fairleadv1alpha1.StagedRolloutStatus, wave string) (fairleadv1alpha1.WaveApproval, error) {
	one := fairleadv1alpha1.WaveApproval{Revision: status.Revision, Wave: wave}
	var all []string
	for i := range status.Waves {
		all = append(all, status.Waves[i].Name)
	}
	if wave == "" {
		if one.Wave = rollouts.WaitsForApproval(status); one.Wave == "" {
			return one, refuse("no wave waits for approval; to approve one before it does, name it with --wave, one of %s", strings.Join(all, ", "))
		}
	} else if !slices.Contains(all, wave) {
		return one, refuse("r%d has no wave %q; it has %s", status.Revision, wave, strings.Join(all, ", "))
	}
	if !slices.Contains(spec.Approvals, one) {
		kept := slices.DeleteFunc(spec.Approvals, func(a fairleadv1alpha1.WaveApproval) bool { return a.Revision < one.Revision })
		spec.Approvals = append(kept, one)
	}
	return one, nil
}

// Retry gives clusters their time again: all that failed, if none is named. Skipped clusters are no longer skipped. It
// returns the clusters; none if all are well by now and the rollout was still halted because of them. Now distinguishes
// this retry from earlier ones.
func (r Rollout) Retry(ctx context.Context, clusters []string, now time.Time) ([]string, error) {
	var out []string
	_, err := r.edit(ctx, "retrying", func(spec *fairleadv1alpha1.StagedRolloutSpec, status *fairleadv1alpha1.StagedRolloutStatus) error {
		var err error
		out, err = retryIn(spec, status, clusters, now)
		return err
	})
	return out, err
}

func retryIn(spec *fairleadv1alpha1.StagedRolloutSpec, status *fairleadv1alpha1.StagedRolloutStatus, clusters []string, now time.Time) ([]string, error) {
	in := map[string]fairleadv1alpha1.ClusterState{}
	var failed []string
	for _, g := range status.Clusters {
		for _, name := range g.Names {
			in[name] = g.State
			if g.State == fairleadv1alpha1.ClusterFailed {
				failed = append(failed, name)
			}
		}
	}
	slices.Sort(failed)
	again := func(name string) fairleadv1alpha1.ClusterAtRevision {
		return fairleadv1alpha1.ClusterAtRevision{Revision: status.Revision, Cluster: name, Attempt: now.UTC().Format(time.RFC3339)}
	}
	if len(clusters) == 0 {
		switch clusters = failed; {
		case len(clusters) == 0 && rollouts.FailedNoMore(status) && anyOf(status) != "":
			// Any retry lifts the halt; one of a healthy cluster has no other effect. An entry that lifted an earlier
			// halt is removed: an older hub would mistake it for a new one.
			spec.Retry = slices.DeleteFunc(spec.Retry, func(c fairleadv1alpha1.ClusterAtRevision) bool {
				return c.Revision < status.Revision || c.Cluster == anyOf(status)
			})
			spec.Retry = append(spec.Retry, again(anyOf(status)))
			return nil, nil
		case len(clusters) == 0:
			return nil, refuse("no cluster has failed")
		}
	}
	clusters = sorted(clusters)
	for _, name := range clusters {
		if in[name] != fairleadv1alpha1.ClusterFailed && in[name] != fairleadv1alpha1.ClusterSkipped {
			return nil, refuse("cluster %q has neither failed with r%d nor is it skipped", name, status.Revision)
		}
	}
	spec.Skip = slices.DeleteFunc(spec.Skip, func(c fairleadv1alpha1.ClusterAtRevision) bool {
		return c.Revision < status.Revision || slices.Contains(clusters, c.Cluster)
	})
	spec.Retry = slices.DeleteFunc(spec.Retry, func(c fairleadv1alpha1.ClusterAtRevision) bool {
		return c.Revision < status.Revision || slices.Contains(clusters, c.Cluster)
	})
	for _, name := range clusters {
		if in[name] == fairleadv1alpha1.ClusterFailed {
			spec.Retry = append(spec.Retry, again(name))
		}
	}
	return clusters, nil
}

// anyOf returns a cluster that was sent the newest revision; empty if none was.
func anyOf(status *fairleadv1alpha1.StagedRolloutStatus) string {
	for _, g := range status.Clusters {
		if g.Revision == status.Revision && len(g.Names) > 0 {
			return g.Names[0]
		}
	}
	return ""
}

// Skip excludes clusters from the newest revision. Each must be one of the targets. It says whether that changed
// anything.
func (r Rollout) Skip(ctx context.Context, clusters, targets []string) (bool, error) {
	return r.edit(ctx, "skipping clusters of", func(spec *fairleadv1alpha1.StagedRolloutSpec, status *fairleadv1alpha1.StagedRolloutStatus) error {
		for _, name := range clusters {
			if !slices.Contains(targets, name) {
				return refuse("cluster %q is not one of its clusters", name)
			}
		}
		spec.Skip = slices.DeleteFunc(spec.Skip, func(c fairleadv1alpha1.ClusterAtRevision) bool { return c.Revision < status.Revision })
		for _, name := range sorted(clusters) {
			if one := (fairleadv1alpha1.ClusterAtRevision{Revision: status.Revision, Cluster: name}); !slices.Contains(spec.Skip, one) {
				spec.Skip = append(spec.Skip, one)
			}
		}
		return nil
	})
}

func sorted(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }

// edit changes the settings for the newest revision. That revision stays the same across retries of conflicts:
// otherwise an operation on a failing revision could be applied to the one that fixes it.
func (r Rollout) edit(
	ctx context.Context, doing string, change func(*fairleadv1alpha1.StagedRolloutSpec, *fairleadv1alpha1.StagedRolloutStatus) error,
) (bool, error) {
	seen := r.Seen
	return r.write(ctx, doing, func(spec *fairleadv1alpha1.StagedRolloutSpec, status *fairleadv1alpha1.StagedRolloutStatus) error {
		if seen == 0 {
			seen = status.Revision
		}
		if seen != status.Revision {
			return refuse("the newest revision is r%d now, not r%d, which you looked at; check r%d first", status.Revision, seen, status.Revision)
		}
		return change(spec, status)
	})
}

// write changes the spec of the rollout, retrying conflicts.
func (r Rollout) write(
	ctx context.Context, doing string, change func(*fairleadv1alpha1.StagedRolloutSpec, *fairleadv1alpha1.StagedRolloutStatus) error,
) (bool, error) {
	changed := false
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		ro := kube.RolloutsIn(r.Namespace).New()
		err := r.Hub.Get(ctx, r.ObjectKey, ro)
		switch {
		case apierrors.IsNotFound(err):
			return fmt.Errorf("%s the rollout %q: the hub has none of that name", doing, r.Name)
		case err != nil:
			return fmt.Errorf("reading the rollout %q: %w", r.Name, err)
		case ro.RolloutStatus().Revision == 0:
			return refuse("it has no revision yet")
		}
		edit, err := kube.Begin(ro)
		if err != nil {
			return err
		}
		if err := change(ro.RolloutSpec(), ro.RolloutStatus()); err != nil {
			return err
		}
		if changed, err = edit.Commit(ctx, r.Hub, r.FieldManager); err != nil {
			return fmt.Errorf("%s the rollout %q: %w", doing, r.Name, err)
		}
		return nil
	})
	return changed, err
}
