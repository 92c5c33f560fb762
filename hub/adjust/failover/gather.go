package failover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/disruption"
	"fairlead.dev/common/evictions"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/adjust/failover/evict"
)

// scope is the input of the decision about one binding.
type scope struct {
	evict.Input
	// zones are the zones whose rate limiter the decision asked, by cluster.
	zones map[string]string
	// err is the first error while the decision asked for more.
	err error
}

// concerns says whether there is anything to decide about a binding: it has targets, eviction tasks or the condition.
func concerns(b kube.Binding) bool {
	spec := b.BindingSpec()
	return len(spec.Clusters)+len(spec.GracefulEvictionTasks) > 0 || hasCondition(b)
}

func (r *reconciler) gather(ctx context.Context, key types.NamespacedName, b kube.Binding) (*scope, error) {
	spec := b.BindingSpec()
	now := r.clock.Now()
	began := r.watch.Began(now)
	s := &scope{Input: evict.Input{
		Now: now, Began: began, HeardBy: r.reconnects.HeardBy(began, now, r.silence()), Generation: b.GetGeneration(), Namespaced: b.GetNamespace() != "", Unscheduled: !bindings.IsScheduled(b),
		Spec: spec, Status: b.BindingStatus(), Tolerations: tolerations(b), Past: evictions.Of(b),
		Clusters: map[string]*clusterv1alpha1.Cluster{}, HeardSince: map[string]time.Time{}, Memory: r.memory(key), Options: r.options,
		HasHealthRule: r.hasHealthRule(schema.FromAPIVersionAndKind(spec.Resource.APIVersion, spec.Resource.Kind)),
	}, zones: map[string]string{}}
	s.State = func(cluster string, rules []policyv1alpha1.StatePreservationRule) (map[string]string, error) {
		return preserved(b.BindingStatus(), cluster, rules)
	}
	s.RateLimit = func(cluster string) time.Duration {
		s.zones[cluster] = zoneOf(s.Clusters[cluster])
		return r.rateLimiter.ask(s.zones[cluster], key.Namespace, r.rateKey(key), cluster, s.Now)
	}
	s.CouldPlaceWithout = func(without []string) bool {
		ok, err := r.scheduler.CouldPlaceWithout(ctx, b, without)
		s.err = errors.Join(s.err, err)
		return ok
	}
	s.WouldReturn = func(cluster string) bool {
		ok, err := r.scheduler.WouldReturn(ctx, b, cluster)
		s.err = errors.Join(s.err, err)
		return ok
	}
	if err := r.readRollout(ctx, b, s); err != nil {
		return nil, err
	}
	for _, target := range spec.Clusters {
		if err := r.readCluster(ctx, target.Name, s); err != nil {
			return nil, err
		}
	}
	for i := range spec.GracefulEvictionTasks {
		if err := r.readCluster(ctx, spec.GracefulEvictionTasks[i].FromCluster, s); err != nil {
			return nil, err
		}
	}
	if len(spec.GracefulEvictionTasks) > 0 {
		if err := r.readWorks(ctx, b, s); err != nil {
			return nil, err
		}
		if err := r.readPatience(ctx, s); err != nil {
			return nil, err
		}
	}
	if tainted(s) {
		return s, r.readSuspensions(ctx, s)
	}
	return s, nil
}

// readRollout reads from the cache which clusters have a revision that is not stable yet.
func (r *reconciler) readRollout(ctx context.Context, b kube.Binding, s *scope) error {
	if !bindings.IsStaged(b) {
		return nil
	}
	kind := kube.RolloutsIn(b.GetNamespace())
	rollout := kind.New()
	err := r.hubClient.Get(ctx, client.ObjectKeyFromObject(b), rollout, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading %s %q: %w", kind.Kind, b.GetName(), err)
	}
	if err == nil {
		s.Unproven = revision.NewPlan(rollout.RolloutStatus()).Unproven
	}
	return nil
}

// tainted says whether a target has a NoExecute taint. Only then does it matter who added it, and whether evictions are
// suspended.
func tainted(s *scope) bool {
	for _, c := range s.Clusters {
		if slices.ContainsFunc(c.Spec.Taints, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute }) {
			return true
		}
	}
	return false
}

// readSuspensions reads the reasons against evictions because of taints.
func (r *reconciler) readSuspensions(ctx context.Context, s *scope) error {
	policies, err := r.taints.compiled(ctx)
	if err != nil {
		return err
	}
	s.ByCondition, s.BySilence, s.Expiring = policies.Keys(), policies.BySilence(), map[string]sets.Set[string]{}
	s.Suspended, s.SeenFor = map[string]evict.Suspension{}, map[string]map[string]time.Duration{}
	verdict, err := r.verdicts.Now(ctx, s.Now)
	if err != nil {
		return err
	}
	for name, c := range s.Clusters {
		s.Expiring[name], s.SeenFor[name] = r.taints.expiringOn(c), r.taints.seenFor(c, s.Now)
		if verdict.Suspended(name) {
			s.Suspended[name] = evict.Suspension{Reason: verdict.Reason(name), Message: verdict.Message(name)}
		}
	}
	return nil
}

// readWorks reads in which clusters the binding has Works.
func (r *reconciler) readWorks(ctx context.Context, b kube.Binding, s *scope) error {
	works, err := kube.WorksOf(ctx, r.hubClient, b)
	if err != nil {
		return err
	}
	s.Works = map[string]evict.Work{}
	for _, w := range works {
		if cluster, ok := contract.ClusterOf(r.prefix, w.Namespace); ok {
			s.Works[cluster] = evict.Work{Observed: observed(w), Created: w.CreationTimestamp.Time}
		}
	}
	return nil
}

// readPatience reads from the cache how long the leases of the targets allow them to be silent. It matters only until
// it is known of each of them whether it has been silent since before this process started.
func (r *reconciler) readPatience(ctx context.Context, s *scope) error {
	if !s.Now.Before(disruption.KnownFrom(s.Began, s.HeardBy, r.silence(), contract.RestingLease)) {
		return nil
	}
	s.Patience = map[string]time.Duration{}
	for i := range s.Spec.Clusters {
		name := s.Spec.Clusters[i].Name
		lease := &coordinationv1.Lease{}
		err := r.hubClient.Get(ctx, client.ObjectKey{Namespace: contract.ClusterNamespace, Name: name}, lease, client.UnsafeDisableDeepCopy)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading the lease of cluster %q: %w", name, err)
		}
		if patience := disruption.Patience(lease); err == nil && patience > 0 {
			s.Patience[name] = patience
		}
	}
	return nil
}

// observed says whether the cluster has reported on the current generation of a Work.
func observed(w *workv1alpha1.Work) bool {
	applied := meta.FindStatusCondition(w.Status.Conditions, workv1alpha1.WorkApplied)
	return applied != nil && applied.ObservedGeneration >= w.Generation
}

func (r *reconciler) readCluster(ctx context.Context, name string, s *scope) error {
	c := &clusterv1alpha1.Cluster{}
	err := r.hubClient.Get(ctx, client.ObjectKey{Name: name}, c, client.UnsafeDisableDeepCopy)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading cluster %q: %w", name, err)
	}
	s.Clusters[name] = c
	if since := r.watch.HeardSince(c); !since.IsZero() {
		s.HeardSince[name] = since
	}
	return nil
}

// tolerations returns the tolerations of the placement that the scheduler applied last. If there is none, or it is so
// long that the binding only has its hash, it returns those of the placement in the spec.
func tolerations(b kube.Binding) []corev1.Toleration {
	var applied policyv1alpha1.Placement
	if raw := b.GetAnnotations()[contract.AppliedPlacementAnnotation]; raw != "" && json.Unmarshal([]byte(raw), &applied) == nil {
		return applied.ClusterTolerations
	}
	if placement := b.BindingSpec().Placement; placement != nil {
		return placement.ClusterTolerations
	}
	return nil
}

func hasCondition(b kube.Binding) bool {
	for i := range b.BindingStatus().Conditions {
		if b.BindingStatus().Conditions[i].Type == workv1alpha2.BindingEvicting {
			return true
		}
	}
	return false
}
