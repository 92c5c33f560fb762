package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"sigs.k8s.io/controller-runtime/pkg/client"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/people/operate"
	"fairlead.dev/test/builder"
)

const (
	rolloutLabel = "bench-rollout"
	strategyName = "bench"
	// edits is the number of edits for a p50.
	edits = 10
	// part is the percentage of all clusters that may progress at a time in the last wave.
	part = 20
	// catchingUp is how many of the returning clusters may progress at a time.
	catchingUp = 10
	// holds is how long a paused rollout is observed.
	holds = 10 * time.Second
)

// strategy returns a strategy of three waves, their total soak time, and the settle time of edits.
func strategy(clusters int) (out *fairleadv1alpha1.RolloutStrategy, soaks, settle time.Duration) {
	seconds := func(n int) *metav1.Duration { return &metav1.Duration{Duration: time.Duration(n) * time.Second} }
	out = &fairleadv1alpha1.RolloutStrategy{
		ObjectMeta: metav1.ObjectMeta{Name: strategyName},
		Spec: fairleadv1alpha1.RolloutStrategySpec{
			Settle: seconds(2),
			Waves: []fairleadv1alpha1.Wave{
				{Name: "canary", Size: new(intstr.FromInt32(1)), Soak: seconds(5)},
				{Name: "tenth", Size: new(intstr.FromString("10%")), Soak: seconds(10), MaxFailures: new(intstr.FromString("5%"))},
				{Name: fairleadv1alpha1.WaveRest, MaxConcurrent: new(intstr.FromInt32(int32(max(1, clusters/part)))), Soak: seconds(10)},
			},
			CatchUp: fairleadv1alpha1.CatchUp{MaxClusters: new(int32(catchingUp)), Settle: seconds(5)},
		},
	}
	for _, w := range out.Spec.Waves {
		soaks += w.Soak.Duration
	}
	return out, soaks, out.Spec.Settle.Duration
}

// rollout measures the targets of staged rollouts.
func (s *system) rollout(ctx context.Context, at size, out *sheet) error {
	r, err := s.bringOut(ctx, at)
	if err != nil {
		return err
	}
	r.out = out
	without, err := s.ordinary(ctx, "before")
	if err != nil {
		return err
	}
	for _, part := range []func(context.Context, put) error{r.adopt, r.canaries, r.abort, r.offline, r.hold, r.comeBack} {
		if err := part(ctx, out.tell); err != nil {
			return err
		}
	}
	with, err := s.ordinary(ctx, "beside")
	if err != nil {
		return err
	}
	s.compare(without, with, out.tell)
	return nil
}

// rolling is one application in all clusters that is rolled out in waves.
type rolling struct {
	*system
	*follower

	out           *sheet
	clusters      int
	template      client.ObjectKey
	soaks, settle time.Duration
	version       int
	canary        string
	silent        []string
}

const rollingPolicy = "rollout"

// bringOut propagates an application to all clusters, without a strategy yet.
func (s *system) bringOut(ctx context.Context, at size) (*rolling, error) {
	policy := builder.MakePolicy("", rollingPolicy).SelectLabel("apps/v1", "Deployment", rolloutLabel, "true").ClusterObj()
	policy.Spec.Placement.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.Duplicated}
	template := deployment(client.ObjectKey{Namespace: application(0).Namespace, Name: "rolling"})
	template.Labels = map[string]string{"app": "rolling", rolloutLabel: "true"}
	for _, obj := range []client.Object{policy, template} {
		if err := s.hubClient.Create(ctx, obj); err != nil {
			return nil, fmt.Errorf("making an application for all clusters: %w", err)
		}
	}
	key := client.ObjectKeyFromObject(template)
	followed, err := s.follow(ctx, client.ObjectKey{Namespace: key.Namespace, Name: contract.BindingName("Deployment", key.Name)})
	if err != nil {
		return nil, err
	}
	r := &rolling{system: s, follower: followed, clusters: at.agents, template: key}
	err = r.await(ctx, "all clusters have the application", func() bool { return len(r.works) == r.clusters && r.unreported == 0 })
	if err != nil {
		return nil, err
	}
	_, err = s.awaitQuiet(ctx)
	return r, err
}

// adopt gives the application its strategy; the running content becomes revision 1 without any write to a Work.
func (r *rolling) adopt(ctx context.Context, _ put) error {
	made, soaks, settle := strategy(r.clusters)
	r.soaks, r.settle = soaks, settle
	if err := r.hubClient.Create(ctx, made); err != nil {
		return fmt.Errorf("making a strategy: %w", err)
	}
	began := time.Now()
	policy := &policyv1alpha1.ClusterPropagationPolicy{ObjectMeta: metav1.ObjectMeta{Name: rollingPolicy}}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, contract.RolloutStrategyAnnotation, made.Name)
	if err := r.hubClient.Patch(ctx, policy, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		return fmt.Errorf("giving a policy its strategy: %w", err)
	}
	if err := r.await(ctx, "what runs is the first revision", func() bool { return r.at(1, fairleadv1alpha1.RolloutCompleted) }); err != nil {
		return err
	}
	if _, err := r.awaitQuiet(ctx); err != nil {
		return err
	}
	r.bars.Most("Work writes when it is given its strategy", float64(len(r.writesSince(began))), 0, "")
	return nil
}

// everywhere waits until a revision has passed every wave, and all reachable clusters have it.
func (r *rolling) everywhere(ctx context.Context, number int64) error {
	return r.await(ctx, fmt.Sprintf("r%d has passed every wave", number), func() bool {
		return r.at(number, fairleadv1alpha1.RolloutCompleted) && r.have(r.hashOf(number)) == r.clusters-len(r.silent)
	})
}

// edit changes the template, and returns the number of the new revision.
func (r *rolling) edit(ctx context.Context) (int64, error) {
	r.version++
	next := r.revision() + 1
	template := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: r.template.Namespace, Name: r.template.Name}}
	patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"registry.example.com/shop/web:r%d"}]}}}}`, r.version)
	if err := r.hubClient.Patch(ctx, template, client.RawPatch(types.StrategicMergePatchType, []byte(patch))); err != nil {
		return 0, fmt.Errorf("editing the application: %w", err)
	}
	return next, nil
}

// steer returns the operator's commands for the rollout.
func (r *rolling) steer() operate.Rollout {
	return operate.Rollout{Hub: r.hubClient, FieldManager: "bench", ObjectKey: r.key}
}

// canaries edits while the canary of the previous edit soaks.
func (r *rolling) canaries(ctx context.Context, tell put) error {
	var took, decided []time.Duration
	for range edits {
		began := time.Now()
		number, err := r.edit(ctx)
		if err != nil {
			return err
		}
		var first workWrite
		if err := r.await(ctx, fmt.Sprintf("the canary has r%d", number), func() bool {
			i := slices.IndexFunc(r.writes, func(w workWrite) bool { return w.has.Number == number })
			if i >= 0 {
				first = r.writes[i]
			}
			return i >= 0 && r.have(r.hashOf(number)) > 0
		}); err != nil {
			return err
		}
		r.canary, took = first.cluster, append(took, first.at.Sub(began)-r.settle)
		for _, w := range r.statusesSince(began) {
			if w.revision == number {
				decided = append(decided, w.at.Sub(began)-r.settle)
				break
			}
		}
		// Edits come at any time, not always just after a write of the status.
		if err := pause(ctx, 1300*time.Millisecond); err != nil {
			return err
		}
	}
	tell("edit to the status that sends it to its canary, p50, without the settling", middle(decided), "ms")
	tell("edit to the Work of its canary, worst, without the settling", worst(took), "ms")
	r.bars.Most("edit to the Work of its canary, p50, without the settling", middle(took), 100, "ms")
	return nil
}

// abort lets the last of these edits go to all clusters, and aborts it before it is stable.
func (r *rolling) abort(ctx context.Context, tell put) error {
	number, stable := r.revision(), int64(1)
	if err := r.await(ctx, "all clusters have what is to be aborted", func() bool { return r.have(r.hashOf(number)) == r.clusters }); err != nil {
		return err
	}
	began := time.Now()
	if _, err := r.steer().Abort(ctx); err != nil {
		return err
	}
	if err := r.await(ctx, "all clusters have the stable content again", func() bool {
		return r.status.Revision == number+1 && r.have(r.hashOf(stable)) == r.clusters
	}); err != nil {
		return err
	}
	took := time.Since(began)
	if writes := r.writesSince(began); len(writes) > 0 {
		tell("abort to the last Work", writes[len(writes)-1].at.Sub(began).Seconds(), "s")
	}
	r.bars.Most(fmt.Sprintf("abort until %d clusters report the old content", r.clusters), took.Seconds(), 60, "s")
	return r.everywhere(ctx, number+1)
}
