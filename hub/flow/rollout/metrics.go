package rollout

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/revision"
)

// metrics are the metrics of rollouts. It is safe for concurrent use.
type metrics struct {
	hubReader client.Reader
	clock     clock.PassiveClock

	clusters, rollouts, oldest *prometheus.Desc
	halts                      *prometheus.CounterVec
	waves, catchUps            prometheus.Histogram

	mu sync.Mutex
	// setAside is, by rollout, since when its longest set aside cluster has been silent.
	setAside map[slotKey]time.Time
	// returning is, by rollout and cluster, since when clusters that have not caught up yet are back.
	returning map[slotKey]map[string]time.Time
}

// phases returns all phases, so that the metric of a phase without rollouts is 0 rather than absent.
func phases() []fairleadv1alpha1.RolloutPhase {
	return []fairleadv1alpha1.RolloutPhase{
		fairleadv1alpha1.RolloutProgressing, fairleadv1alpha1.RolloutSoaking, fairleadv1alpha1.RolloutWaiting, fairleadv1alpha1.RolloutPaused,
		fairleadv1alpha1.RolloutHalted, fairleadv1alpha1.RolloutCompleted,
	}
}

func states() []fairleadv1alpha1.ClusterState {
	return []fairleadv1alpha1.ClusterState{
		fairleadv1alpha1.ClusterHeld, fairleadv1alpha1.ClusterInFlight, fairleadv1alpha1.ClusterHealthy, fairleadv1alpha1.ClusterFailed, fairleadv1alpha1.ClusterLost,
		fairleadv1alpha1.ClusterSetAside, fairleadv1alpha1.ClusterReturning, fairleadv1alpha1.ClusterCatchingUp, fairleadv1alpha1.ClusterSkipped,
	}
}

// newMetrics registers the metrics. If another hub has registered them in the same registry, they stay the other's; tests have their own
// registries.
func newMetrics(registry prometheus.Registerer, hubReader client.Reader, c clock.PassiveClock) (*metrics, error) {
	const prefix = "fairlead_hub_rollout_"
	m := &metrics{
		hubReader: hubReader, clock: c,
		clusters: prometheus.NewDesc(prefix+"clusters", "Clusters of all rollouts that are not at the stable revision, by state: a cluster counts once for each application.", []string{"state"}, nil),
		rollouts: prometheus.NewDesc(prefix+"rollouts", "Applications with a strategy, by the phase of their rollout.", []string{"phase"}, nil),
		oldest:   prometheus.NewDesc(prefix+"set_aside_oldest_seconds", "How long the cluster that was set aside the longest ago, of all rollouts, has been silent; 0 if none is set aside.", nil, nil),
		halts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "halts_total", Help: "Rollouts that were halted because a wave had more failures than allowed.",
		}, []string{"reason"}),
		waves: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: prefix + "wave_seconds", Help: "Time from the start of a wave until it has passed, including its soak, without the wait for an approval before it.",
			// 1 s to 3 days.
			Buckets: prometheus.ExponentialBuckets(1, 3, 12),
		}),
		catchUps: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: prefix + "catch_up_seconds", Help: "Time from the return of a cluster that was set aside until it has the changes of an application that it missed.",
			Buckets: prometheus.ExponentialBuckets(1, 3, 12),
		}),
		setAside: map[slotKey]time.Time{}, returning: map[slotKey]map[string]time.Time{},
	}
	for _, reason := range []string{fairleadv1alpha1.ReasonRolloutTooManyFailed, fairleadv1alpha1.ReasonRolloutLostOnly} {
		m.halts.WithLabelValues(reason)
	}
	for _, c := range []prometheus.Collector{m, m.halts, m.waves, m.catchUps} {
		if err := registry.Register(c); err != nil {
			if _, twice := errors.AsType[prometheus.AlreadyRegisteredError](err); !twice {
				return nil, err
			}
		}
	}
	return m, nil
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- m.clusters
	ch <- m.rollouts
	ch <- m.oldest
}

// Collect implements prometheus.Collector. It counts the rollouts in the cache.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	clusters, rollouts := map[fairleadv1alpha1.ClusterState]int{}, map[fairleadv1alpha1.RolloutPhase]int{}
	for _, kind := range []kube.RolloutKind{kube.StagedRollouts(), kube.ClusterStagedRollouts()} {
		found, err := kind.List(context.Background(), m.hubReader) //nolint:forbidigo // Prometheus gives none; the list is of a cache.
		if err != nil {
			continue // the cache is not started, or stopped
		}
		for _, r := range found {
			rollouts[r.RolloutStatus().Phase]++
			for _, group := range r.RolloutStatus().Clusters {
				clusters[group.State] += len(group.Names)
			}
		}
	}
	for _, phase := range phases() {
		ch <- prometheus.MustNewConstMetric(m.rollouts, prometheus.GaugeValue, float64(rollouts[phase]), string(phase))
	}
	for _, state := range states() {
		ch <- prometheus.MustNewConstMetric(m.clusters, prometheus.GaugeValue, float64(clusters[state]), string(state))
	}
	ch <- prometheus.MustNewConstMetric(m.oldest, prometheus.GaugeValue, m.oldestSetAside().Seconds())
}

func (m *metrics) oldestSetAside() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out time.Duration
	for _, since := range m.setAside {
		out = max(out, m.clock.Since(since))
	}
	return out
}

// written updates the metrics by the difference between two statuses.
func (m *metrics) written(kind string, name types.NamespacedName, before, after *fairleadv1alpha1.StagedRolloutStatus, oldest, now time.Time) {
	const halted = fairleadv1alpha1.RolloutConditionHalted
	if c := meta.FindStatusCondition(after.Conditions, halted); meta.IsStatusConditionTrue(after.Conditions, halted) && !meta.IsStatusConditionTrue(before.Conditions, halted) {
		m.halts.WithLabelValues(c.Reason).Inc()
	}
	passed := map[string]bool{}
	for _, w := range before.Waves {
		passed[w.Name] = before.Revision == after.Revision && w.PassedAt != nil
	}
	for _, w := range after.Waves {
		if w.PassedAt != nil && w.StartedAt != nil && !passed[w.Name] && !after.Immediately {
			m.waves.Observe(w.PassedAt.Sub(w.StartedAt.Time).Seconds())
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := slotKey{kind: kind, name: name}
	if oldest.IsZero() {
		delete(m.setAside, key)
	} else {
		m.setAside[key] = oldest
	}
	m.countCaughtUp(key, after, now)
}

// countCaughtUp records which clusters are back and which have caught up.
func (m *metrics) countCaughtUp(key slotKey, status *fairleadv1alpha1.StagedRolloutStatus, now time.Time) {
	back := map[string]time.Time{}
	for _, state := range []fairleadv1alpha1.ClusterState{fairleadv1alpha1.ClusterReturning, fairleadv1alpha1.ClusterCatchingUp} {
		for _, name := range revision.Names(status.Clusters, state) {
			back[name] = now
			if since, known := m.returning[key][name]; known {
				back[name] = since
			}
		}
	}
	away := map[string]bool{}
	for _, state := range []fairleadv1alpha1.ClusterState{fairleadv1alpha1.ClusterSetAside, fairleadv1alpha1.ClusterLost, fairleadv1alpha1.ClusterFailed} {
		for _, name := range revision.Names(status.Clusters, state) {
			away[name] = true
		}
	}
	for name, since := range m.returning[key] {
		if _, still := back[name]; !still && !away[name] {
			m.catchUps.Observe(now.Sub(since).Seconds())
		}
	}
	if len(back) == 0 {
		delete(m.returning, key)
		return
	}
	m.returning[key] = back
}

// forget drops a deleted rollout.
func (m *metrics) forget(kind string, name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.setAside, slotKey{kind: kind, name: name})
	delete(m.returning, slotKey{kind: kind, name: name})
}
