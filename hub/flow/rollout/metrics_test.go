package rollout

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
)

func TestRolloutMetrics(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	at := func(after time.Duration) *metav1.Time { return new(metav1.NewTime(noon.Add(after))) }
	halted := &fairleadv1alpha1.StagedRollout{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	halted.Status = fairleadv1alpha1.StagedRolloutStatus{
		Phase: fairleadv1alpha1.RolloutHalted, Revision: 2,
		Waves: []fairleadv1alpha1.WaveStatus{{Name: "canary", StartedAt: at(0), PassedAt: at(5 * time.Second)}, {Name: "rest", StartedAt: at(5 * time.Second)}},
		Clusters: []fairleadv1alpha1.ClusterGroup{
			{State: fairleadv1alpha1.ClusterFailed, Names: []string{"a"}},
			{State: fairleadv1alpha1.ClusterSetAside, Names: []string{"b", "c"}},
			{State: fairleadv1alpha1.ClusterReturning, Names: []string{"d"}},
		},
		Conditions: []metav1.Condition{{
			Type: fairleadv1alpha1.RolloutConditionHalted, Status: metav1.ConditionTrue, Reason: fairleadv1alpha1.ReasonRolloutTooManyFailed,
		}},
	}
	wide := &fairleadv1alpha1.ClusterStagedRollout{ObjectMeta: metav1.ObjectMeta{Name: "reader"}}
	wide.Status.Phase = fairleadv1alpha1.RolloutCompleted
	scheme := runtime.NewScheme()
	g.Expect(fairleadv1alpha1.AddToScheme(scheme)).To(Succeed())
	registry, clock := prometheus.NewRegistry(), clocktesting.NewFakePassiveClock(noon.Add(time.Minute))
	m, err := newMetrics(registry, fake.NewClientBuilder().WithScheme(scheme).WithObjects(halted, wide).Build(), clock)
	g.Expect(err).NotTo(HaveOccurred())

	name := types.NamespacedName{Namespace: "shop", Name: "web"}
	m.written("StagedRollout", name, &fairleadv1alpha1.StagedRolloutStatus{}, &halted.Status, noon.Add(-time.Hour), noon)
	m.written("StagedRollout", name, &halted.Status, &halted.Status, noon.Add(-time.Hour), noon) // tells of nothing twice
	after := halted.Status.DeepCopy()
	after.Clusters = after.Clusters[:2] // d has caught up
	m.written("StagedRollout", name, &halted.Status, after, noon.Add(-time.Hour), noon.Add(30*time.Second))
	// What goes out at once has no waves whose time says anything.
	atOnce := &fairleadv1alpha1.StagedRolloutStatus{Revision: 3, Immediately: true, Waves: []fairleadv1alpha1.WaveStatus{{Name: "canary", StartedAt: at(0), PassedAt: at(0)}}}
	m.written("StagedRollout", types.NamespacedName{Namespace: "shop", Name: "db"}, &fairleadv1alpha1.StagedRolloutStatus{}, atOnce, time.Time{}, noon)

	families, err := registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	seen := map[string]float64{}
	for _, family := range families {
		for _, one := range family.GetMetric() {
			series := strings.TrimPrefix(family.GetName(), "fairlead_hub_rollout_")
			for _, label := range one.GetLabel() {
				series += " " + label.GetValue()
			}
			if h := one.GetHistogram(); h != nil {
				seen[series+" count"], seen[series+" sum"] = float64(h.GetSampleCount()), h.GetSampleSum()
				continue
			}
			seen[series] = one.GetGauge().GetValue() + one.GetCounter().GetValue()
		}
	}
	g.Expect(seen).To(Equal(map[string]float64{
		"halts_total " + fairleadv1alpha1.ReasonRolloutTooManyFailed: 1, "halts_total " + fairleadv1alpha1.ReasonRolloutLostOnly: 0,
		"rollouts Completed": 1, "rollouts Halted": 1, "rollouts Paused": 0, "rollouts Progressing": 0, "rollouts Soaking": 0, "rollouts Waiting": 0,
		"clusters CatchingUp": 0, "clusters Failed": 1, "clusters Healthy": 0, "clusters Held": 0, "clusters InFlight": 0, "clusters Lost": 0,
		"clusters Returning": 1, "clusters SetAside": 2, "clusters Skipped": 0,
		"set_aside_oldest_seconds": 3660, "wave_seconds count": 1, "wave_seconds sum": 5, "catch_up_seconds count": 1, "catch_up_seconds sum": 30,
	}))

	m.forget("StagedRollout", name)
	g.Expect(m.oldestSetAside()).To(BeZero())
}
