package showcase

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/revision"
	"fairlead.dev/test/builder"
)

// MakeRollout returns the rollout of the web shop: r3 is halted in its first wave, because hamburg failed; kiel is
// skipped.
func MakeRollout(tb testing.TB) *fairleadv1alpha1.StagedRollout {
	tb.Helper()
	ago := func(minutes int) *metav1.Time {
		t := metav1.NewTime(time.Now().Add(-time.Duration(minutes) * time.Minute).Truncate(time.Second))
		return &t
	}
	ro := &fairleadv1alpha1.StagedRollout{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-deployment"}}
	ro.Status = fairleadv1alpha1.StagedRolloutStatus{
		Strategy: "shops", Phase: fairleadv1alpha1.RolloutHalted, Revision: 3, Stable: 2, Wave: "north",
		Waves: []fairleadv1alpha1.WaveStatus{
			{Name: "north", Size: 3, Healthy: 1, Failed: 1, SetAside: 1, StartedAt: ago(12), Soak: &metav1.Duration{Duration: 10 * time.Minute}},
			{Name: "rest", Size: 2, Held: 2},
		},
		Clusters: []fairleadv1alpha1.ClusterGroup{
			{State: fairleadv1alpha1.ClusterHealthy, Revision: 3, Names: []string{"bremen"}},
			{State: fairleadv1alpha1.ClusterFailed, Revision: 3, Reason: "Unhealthy", Names: []string{"hamburg"}},
			{State: fairleadv1alpha1.ClusterSetAside, Reason: "Silent", Names: []string{"kiel"}},
		},
		Conditions: []metav1.Condition{{
			Type: fairleadv1alpha1.RolloutConditionHalted, Status: metav1.ConditionTrue, Reason: fairleadv1alpha1.ReasonRolloutTooManyFailed,
			Message: "Wave north may have no failure, and hamburg failed.", LastTransitionTime: *ago(2),
		}},
	}
	for i, cause := range []string{fairleadv1alpha1.CauseAdopted, fairleadv1alpha1.CauseEdited, fairleadv1alpha1.CauseEdited} {
		number := int64(i + 1)
		kept := keep(tb, number)
		hash, err := kept.Hash()
		check(tb, err)
		ro.Status.Revisions = append(ro.Status.Revisions, fairleadv1alpha1.RevisionStatus{
			Number: number, Hash: hash, Cause: cause, CreatedAt: *ago(1000 / (i + 1)), TemplateGeneration: number,
		})
	}
	return ro
}

// keep returns the stored contents of a revision of the web shop.
func keep(tb testing.TB, number int64) *revision.Kept {
	tb.Helper()
	image := []string{"shop/web:1.0", "shop/web:1.1", "shop/web:2.0"}[number-1]
	main, err := revision.MakePart(revision.Source{Template: builder.MakeDeployment("shop", "web").Image(image).Label("app", "web").Obj()})
	check(tb, err)
	return &revision.Kept{Content: revision.Content{Main: main}, Strategy: "shops"}
}

// fillRollout creates the rollout of the web shop and the contents of its revisions.
func fillRollout(tb testing.TB, c client.Client) {
	tb.Helper()
	ro := MakeRollout(tb)
	Put(tb, c, ro.DeepCopy())
	for _, one := range ro.Status.Revisions {
		secrets, err := revision.SecretsOf(ro, one.Number, keep(tb, one.Number))
		check(tb, err)
		for _, secret := range secrets {
			secret.OwnerReferences = nil // there is no garbage collector, and only the server knows the UID
			check(tb, c.Create(tb.Context(), secret))
		}
	}
}
