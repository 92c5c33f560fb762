package monitoring

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"k8s.io/apimachinery/pkg/types"

	ctrl "sigs.k8s.io/controller-runtime"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/hub/people/monitoring/series"
	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/hub/people/view/clusters"
)

// keepFor is how long the metrics are cached, so that frequent scrapes cost no more.
const keepFor = 5 * time.Second

// collectTimeout bounds a collection, which only reads from memory.
const collectTimeout = 5 * time.Second

// Describe implements prometheus.Collector.
func (m *Monitor) Describe(ch chan<- *prometheus.Desc) {
	d := m.describe
	for _, desc := range []*prometheus.Desc{
		d.applications, d.clusters, d.policies, d.heartbeat, d.certificate, d.works, d.held, d.refused, d.unclaimed, d.noted, d.pending, d.oldest,
	} {
		ch <- desc
	}
	for _, desc := range d.agent.all() {
		ch <- desc
	}
}

// Collect implements prometheus.Collector.
func (m *Monitor) Collect(ch chan<- prometheus.Metric) {
	for _, metric := range m.count() {
		ch <- metric
	}
}

// count returns all metrics that describe a state.
func (m *Monitor) count() []prometheus.Metric {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.Now()
	if m.last != nil && now.Sub(m.lastAt) < keepFor {
		return m.last
	}
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout) //nolint:forbidigo // A prometheus.Collector gets no context.
	defer cancel()
	state, err := m.gather(ctx)
	if err != nil {
		ctrl.Log.WithName("monitoring").Error(err, "Counting the state of the fleet failed; the metrics are missing this time")
		return nil
	}
	t := &metricSet{}
	m.addApplications(t, state, now)
	m.addClusters(t, state, now)
	m.last, m.lastAt = t.metrics, now
	return m.last
}

// metricSet collects metrics.
type metricSet struct{ metrics []prometheus.Metric }

func (t *metricSet) gauge(desc *prometheus.Desc, value float64, labels ...string) {
	t.metrics = append(t.metrics, prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...))
}

func (t *metricSet) counter(desc *prometheus.Desc, value float64, labels ...string) {
	t.metrics = append(t.metrics, prometheus.MustNewConstMetric(desc, prometheus.CounterValue, value, labels...))
}

func (m *Monitor) addApplications(t *metricSet, state *snapshot, now time.Time) {
	states, reasons := map[applications.State]int{}, map[string]int{}
	pending, oldest := 0, time.Duration(0)
	for i, a := range state.apps {
		states[a.State]++
		for _, p := range a.Places {
			if p.State == applications.Failing {
				reasons[series.ReasonOf(p.Why)]++
			}
		}
		if since := m.pendingSince(types.NamespacedName{Namespace: state.namespaces[i], Name: a.Binding}, a, state, now); !since.IsZero() {
			pending++
			oldest = max(oldest, now.Sub(since))
		}
	}
	for _, s := range applications.States() {
		t.gauge(m.describe.applications, float64(states[s]), string(s))
	}
	for _, r := range series.Reasons() {
		t.gauge(m.describe.refused, float64(reasons[r]), r)
	}
	t.gauge(m.describe.policies, float64(state.idle))
	t.gauge(m.describe.pending, float64(pending))
	t.gauge(m.describe.oldest, oldest.Seconds())
}

func (m *Monitor) addClusters(t *metricSet, state *snapshot, now time.Time) {
	states, unclaimed := map[clusters.State]int{}, int32(0)
	for i := range state.clusters {
		c := &state.clusters[i]
		states[c.State]++
		unclaimed += c.Unclaimed
		if h, ok := m.heard[c.Name]; ok && c.State != clusters.Forgotten {
			t.gauge(m.describe.heartbeat, h.age(c, now).Seconds(), c.Name)
		}
		if c.Certificate != nil && c.State != clusters.Forgotten {
			t.gauge(m.describe.certificate, c.Certificate.Expires.Sub(now).Seconds(), c.Name)
		}
		held := 0.0
		if c.DeletionsHeld != "" {
			held = 1
		}
		t.gauge(m.describe.held, held, c.Name)
		if c.Report != nil && c.State != clusters.Forgotten {
			t.addAgent(m.describe.agent, c, now)
		}
		w := c.Works
		t.gauge(m.describe.works, float64(w.Applied), c.Name, "applied")
		t.gauge(m.describe.works, float64(w.Failing), c.Name, "failing")
		t.gauge(m.describe.works, float64(w.Deleting), c.Name, "deleting")
		t.gauge(m.describe.works, float64(w.Total-w.Applied-w.Failing-w.Deleting), c.Name, "waiting")
	}
	for _, s := range clusters.States() {
		t.gauge(m.describe.clusters, float64(states[s]), string(s))
	}
	t.gauge(m.describe.unclaimed, float64(unclaimed))
	for _, condition := range notedConditions() {
		t.gauge(m.describe.noted, float64(state.noted[condition]), condition)
	}
}

// addAgent adds the counters of an agent. They start over when the agent restarts.
func (t *metricSet) addAgent(d agentDescriptions, c *clusters.Cluster, now time.Time) {
	cluster, r := c.Name, c.Report
	t.counter(d.drift, float64(r.DriftRepaired), cluster)
	t.counter(d.restarts, float64(r.Restarts), cluster)
	t.gauge(d.stuck, float64(r.StuckObjects), cluster)
	var journal clusterv1alpha1.JournalReport
	if r.Journal != nil {
		journal = *r.Journal
	}
	failing := 0.0
	if journal.Failing {
		failing = 1
	}
	t.gauge(d.journalWorks, float64(journal.Works), cluster)
	t.gauge(d.journalBytes, float64(journal.Bytes), cluster)
	t.gauge(d.journalFailing, failing, cluster)
	if until := r.MemberCertificateExpires; until != nil && c.State != clusters.Silent { // the agent of a silent cluster may have a newer certificate
		t.gauge(d.memberCertificate, until.Sub(now).Seconds(), cluster)
		if from := r.MemberCertificateBegins; from != nil && from.Before(until) {
			t.gauge(d.memberCertificateLifetime, until.Sub(from.Time).Seconds(), cluster)
		}
	}
	t.counter(d.sent, float64(r.SentBytes), cluster)
	t.counter(d.received, float64(r.ReceivedBytes), cluster)
}
