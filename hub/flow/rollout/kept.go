package rollout

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/flow/rollout/admit"
	"fairlead.dev/hub/flow/rollout/plan"
)

// readKept reads a stored revision; nil if it is missing or does not match the status. Callers then change nothing.
func (r *reconciler) readKept(ctx context.Context, rollout kube.Rollout, id revision.ID) (*revision.Kept, error) {
	if id.Zero() {
		return nil, nil //nolint:nilnil // nil means that there is no revision
	}
	kept, err := kube.ReadRevision(ctx, r.hubReader, rollout, id)
	if errors.Is(err, revision.ErrUnreadable) {
		ctrl.LoggerFrom(ctx).V(1).Info("Passing over a revision", "reason", err.Error())
		return nil, nil //nolint:nilnil // See above.
	}
	return kept, err
}

// keep stores the content of a revision that no status names yet. It may replace an existing one, which nobody can have read.
func (r *reconciler) keep(ctx context.Context, rollout kube.Rollout, number int64, kept *revision.Kept) error {
	secrets, err := revision.SecretsOf(rollout, number, kept)
	if err != nil {
		return fmt.Errorf("keeping revision %d: %w", number, err)
	}
	err = r.write(ctx, secrets)
	if apierrors.IsAlreadyExists(err) {
		if err := r.clear(ctx, rollout, number); err != nil {
			return err
		}
		err = r.write(ctx, secrets)
	}
	if err != nil {
		return fmt.Errorf("keeping revision %d: %w", number, err)
	}
	return nil
}

// write creates the Secrets of a revision. It records those of rules even if creating them fails, since they may exist nevertheless.
func (r *reconciler) write(ctx context.Context, secrets []*corev1.Secret) error {
	for _, secret := range secrets {
		r.rules.remember(secret)
		err := r.hubClient.Create(ctx, secret.DeepCopy(), client.FieldOwner(contract.FieldManagerRollout))
		r.rules.remember(secret) // again, because it was dropped if the rollout was deleted meanwhile
		if err != nil {
			return fmt.Errorf("making secret %q in %q: %w", secret.Name, secret.Namespace, err)
		}
	}
	return nil
}

// clear deletes what a hub left behind that stopped between writing the Secrets and the status. It first confirms by a live read that the
// status does not name the revision.
func (r *reconciler) clear(ctx context.Context, rollout kube.Rollout, number int64) error {
	now := r.rollouts.New()
	if err := r.hubReader.Get(ctx, client.ObjectKeyFromObject(rollout), now); err != nil {
		return fmt.Errorf("reading %s %q: %w", r.rollouts.Kind, rollout.GetName(), err)
	}
	if now.GetUID() != rollout.GetUID() || now.RolloutStatus().Revision >= number {
		resource := schema.GroupResource{Group: fairleadv1alpha1.GroupVersion.Group, Resource: r.rollouts.Resource}
		return kube.CacheBehind(resource, rollout.GetName())
	}
	return r.drop(ctx, rollout, number)
}

// drop deletes the Secrets of a revision.
func (r *reconciler) drop(ctx context.Context, rollout kube.Rollout, number int64) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: revision.SecretNamespace(rollout), Name: revision.SecretName(rollout, number)}}
	if err := r.hubClient.Delete(ctx, secret); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting secret %q of revision %d: %w", secret.Name, number, err)
	}
	return r.rules.drop(ctx, rollout, number)
}

// dropKept deletes the Secrets of revisions that the status does not name any more.
func (r *reconciler) dropKept(ctx context.Context, s *scope) error {
	for len(s.memory.forget) > 0 {
		if err := r.drop(ctx, s.rollout, s.memory.forget[0]); err != nil {
			return err
		}
		s.memory.forget = s.memory.forget[1:]
	}
	return nil
}

// cut makes a revision and stores its content. No status names it yet.
func (r *reconciler) cut(ctx context.Context, s *scope, c admit.Cut) (admit.Made, *admit.Frozen, revision.Content, error) {
	made := admit.Made{Cut: c, At: r.clock.Now()}
	kept := &revision.Kept{}
	if c.ContentOf == 0 {
		kept.Content, kept.MadeAt = s.memory.live.content, metav1.NewTime(s.memory.live.at).Rfc3339Copy()
		made.TemplateGeneration = s.memory.live.generation
	} else {
		older, err := kube.ReadRevision(ctx, r.hubReader, s.rollout, revision.Of(s.in.Status.Revisions, c.ContentOf))
		if err != nil {
			return made, nil, revision.Content{}, err
		}
		kept.Content, kept.MadeAt = older.Content, older.MadeAt
		kept.Strategy, kept.StrategySpec = older.Strategy, older.StrategySpec
		made.TemplateGeneration = older.Main.Origin.Generation
	}
	switch { // If neither is known, a rollback uses the strategy of the revision that it returns to.
	case s.strategy != nil:
		kept.Strategy, kept.StrategySpec = s.strategy.Name, *s.strategy.Spec.DeepCopy()
	case s.in.Frozen != nil:
		kept.Strategy, kept.StrategySpec = s.in.Status.Strategy, s.in.Frozen.Strategy
	}
	made.Strategy = kept.Strategy
	kept.Waves = plan.Waves(plan.Input{Strategy: kept.StrategySpec, Seed: string(s.binding.GetUID()), Targets: s.targets})
	var err error
	if made.Hash, err = kept.Hash(); err != nil {
		return made, nil, revision.Content{}, fmt.Errorf("hashing revision %d: %w", c.Number, err)
	}
	if err := r.keep(ctx, s.rollout, c.Number, kept); err != nil {
		return made, nil, revision.Content{}, err
	}
	return made, &admit.Frozen{Strategy: kept.StrategySpec, Waves: kept.Waves}, kept.Content, nil
}

// readFrozen reads what was frozen with the newest revision.
func (r *reconciler) readFrozen(ctx context.Context, s *scope) error {
	id := revision.Of(s.in.Status.Revisions, s.in.Status.Revision)
	if s.memory.frozen == nil || s.memory.frozenOf != id {
		kept, err := r.readKept(ctx, s.rollout, id)
		if err != nil || kept == nil {
			return err
		}
		s.remember(&admit.Frozen{Strategy: kept.StrategySpec, Waves: kept.Waves}, id)
		s.memory.needs = map[string][]revision.Ref{id.Hash: refsOf(kept.Content)}
	}
	s.in.Frozen = s.memory.frozen
	return nil
}

// remember caches what was frozen with a revision, which every reconcile needs.
func (s *scope) remember(frozen *admit.Frozen, of revision.ID) {
	s.memory.frozen, s.memory.frozenOf = frozen, of
}
