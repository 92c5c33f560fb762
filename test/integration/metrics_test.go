package integration

import (
	"context"
	"crypto/x509"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	agentconnect "fairlead.dev/agent/connect"
	"fairlead.dev/agent/journal"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube/eventsink"
	hubconnect "fairlead.dev/hub/fleet/connect"
	"fairlead.dev/hub/fleet/connect/lines"
	"fairlead.dev/hub/machinery/apiserver"
	"fairlead.dev/hub/machinery/apiserver/authority"
	"fairlead.dev/hub/machinery/backup"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/monitoring"
)

// scrape returns the metrics that Prometheus would get from a hub and its agents, by name.
func (s *system) scrape(g Gomega) map[string]*dto.MetricFamily {
	families, err := prometheus.Gatherers{ctrlmetrics.Registry, s.registry}.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	out := map[string]*dto.MetricFamily{}
	for _, f := range families {
		out[f.GetName()] = f
	}
	return out
}

// addedLabels are those that Prometheus adds to what it scrapes.
func addedLabels() []string { return []string{"job", "namespace", "instance", "le"} }

func TestDashboardsAndAlertsAskForWhatThereIs(t *testing.T) {
	t.Parallel()
	s := shared(t)
	namespace := s.namespace(t)
	template := builder.MakeDeployment(namespace, "measured").Replicas(1).Obj()
	s.create(t, template, builder.MakePolicy(namespace, "measured").Select("apps/v1", "Deployment", "measured").Clusters("edge-1", "edge-2").Obj())
	s.create(t, builder.MakePolicy(namespace, "idle").Select("v1", "ConfigMap", "absent").Obj())
	// The agents of these tests have no journal; real agents do.
	journal.Open(journal.Options{Directory: t.TempDir(), Cluster: "edge-1", Clock: clock.RealClock{}, Registry: ctrlmetrics.Registry})
	// The hub of these tests does not make backups.
	s.backUp(t)
	// It has no embedded API.
	s.embed(t)
	// No agent has a line.
	s.openLine(t)
	queries, err := monitoring.Queries()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(queries).NotTo(BeEmpty())

	eventually(t, func(g Gomega) {
		there := s.scrape(g)
		for _, q := range queries {
			asked, err := q.Asks()
			g.Expect(err).NotTo(HaveOccurred())
			for _, series := range asked {
				if series.Metric == "up" {
					continue // a metric of Prometheus itself
				}
				family := there[strings.TrimSuffix(series.Metric, "_bucket")]
				g.Expect(family).NotTo(BeNil(), "%s asks for %s", q.Where, series.Metric)
				g.Expect(strings.HasSuffix(series.Metric, "_bucket")).To(Equal(family.GetType() == dto.MetricType_HISTOGRAM), series.Metric)
				maps.DeleteFunc(series.Labels, func(key, _ string) bool { return slices.Contains(addedLabels(), key) })
				g.Expect(slices.ContainsFunc(family.GetMetric(), func(m *dto.Metric) bool { return has(m, series.Labels) })).
					To(BeTrue(), "%s asks for %s with %v", q.Where, series.Metric, series.Labels)
			}
		}
		g.Expect(value(there, "fairlead_hub_applications", "Healthy")).To(BeNumerically(">=", 1))
		g.Expect(value(there, "fairlead_hub_clusters", "Ready")).To(BeEquivalentTo(2))
		g.Expect(value(there, "fairlead_hub_idle_policies")).To(BeNumerically(">=", 1))
		g.Expect(value(there, "fairlead_hub_cluster_heartbeat_age_seconds", "edge-1")).To(BeNumerically("<", 60))
		g.Expect(value(there, "fairlead_hub_cluster_certificate_remaining_seconds", "edge-2")).To(BeNumerically(">", 0))
		g.Expect(value(there, "fairlead_hub_cluster_works", "edge-1", "applied")).To(BeNumerically(">=", 1))
		for _, name := range []string{"fairlead_hub_propagation_seconds", "fairlead_hub_status_aggregation_seconds", "fairlead_agent_status_report_seconds"} {
			h := there[name].GetMetric()[0].GetHistogram()
			g.Expect(h.GetSampleCount()).To(BeNumerically(">=", 1), name)
			g.Expect(h.GetSampleSum()/float64(h.GetSampleCount())).To(BeNumerically("<", waitTimeout.Seconds()), name)
		}
	})
}

// openLine registers the metrics of lines, with an idle line of edge-1.
func (s *system) openLine(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	hubClient, registry := s.hub.Client(t), lines.New()
	_, err := hubconnect.New(hubconnect.Deps{
		Clusters: hubClient, HubReader: hubClient, Lines: registry, Clock: clock.RealClock{}, Registry: s.registry,
		Presence: func() string { return contract.LeaseIsPresence },
		Review:   func(context.Context, authorizationv1.SubjectAccessReviewSpec) (bool, error) { return false, nil },
	})
	g.Expect(err).NotTo(HaveOccurred())
	registry.Open("edge-1", nil, lines.Info{}, time.Now())
	_, err = agentconnect.New(agentconnect.Deps{
		Cluster: "edge-1", Clock: clock.RealClock{}, Registry: s.registry,
		Open:        func(context.Context, string, http.Header) (net.Conn, *http.Response, error) { return nil, nil, io.EOF },
		Certificate: func() (string, time.Time) { return "", time.Time{} },
	})
	g.Expect(err).NotTo(HaveOccurred())
}

// embed makes the hub report on an embedded API, of which only the files exist.
func (s *system) embed(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	dir := t.TempDir()
	cert, _, err := authority.Make(&x509.Certificate{}, time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	for name, data := range map[string][]byte{
		"run/database.json": []byte(`{"size":3,"inUse":2,"quota":8}`), "pki/ca.crt": authority.Bundle{cert}.Encode(), "pki/front-proxy-ca.crt": authority.Bundle{cert}.Encode(),
	} {
		path := filepath.Join(dir, name)
		g.Expect(os.MkdirAll(filepath.Dir(path), 0o700)).To(Succeed())
		g.Expect(os.WriteFile(path, data, 0o600)).To(Succeed())
	}
	stop, err := apiserver.RegisterStateMetrics(s.registry, dir, clock.RealClock{})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(stop)
	stop, err = apiserver.RegisterCertificateMetrics(s.registry, []apiserver.Certificate{{Use: "dashboard", Data: authority.Bundle{cert}.Encode()}}, clock.RealClock{})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(stop)
}

// backUp makes the hub make backups of nothing.
func (s *system) backUp(t *testing.T) {
	t.Helper()
	hubClient := s.hub.Client(t)
	schedule, err := backup.NewSchedule(backup.Deps{
		Maker: backup.Maker{Database: backup.Database{
			Take:   func(context.Context, io.Writer) error { return nil },
			Verify: func(context.Context, io.Reader) (*backup.Verified, error) { return &backup.Verified{}, nil },
		}},
		Directory: t.TempDir(), Every: time.Hour, HubReader: hubClient, HubClient: hubClient,
		Registry: s.registry, Events: func(eventsink.Event) {}, Clock: clock.RealClock{},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- schedule.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestMetricsOfOursSayWhatTheyAreAndAreFew(t *testing.T) {
	t.Parallel()
	s := shared(t)
	allowed := []string{"state", "phase", "reason", "result", "cluster", "certificate", "direction"}
	eventually(t, func(g Gomega) {
		ours := 0
		for name, family := range s.scrape(g) {
			if !strings.HasPrefix(name, "fairlead_") {
				continue
			}
			ours++
			g.Expect(family.GetHelp()).To(HaveSuffix("."), "%s says what it is", name)
			for _, m := range family.GetMetric() {
				for _, label := range m.GetLabel() {
					g.Expect(label.GetName()).To(BeElementOf(allowed), "label of %s", name)
				}
			}
			g.Expect(len(family.GetMetric())).To(BeNumerically("<=", 40), name)
		}
		g.Expect(ours).To(BeNumerically(">", 15))
	})
}

func TestAgentsTellTheirVersion(t *testing.T) {
	t.Parallel()
	s := shared(t)
	eventually(t, func(g Gomega) {
		lease := &coordinationv1.Lease{}
		g.Expect(s.hub.Client(t).Get(t.Context(), client.ObjectKey{Namespace: contract.ClusterNamespace, Name: "edge-1"}, lease)).To(Succeed())
		g.Expect(lease.Annotations).To(HaveKeyWithValue(contract.AgentVersionAnnotation, "test"))
	})
}

// has reports whether a series has these labels.
func has(m *dto.Metric, labels map[string]string) bool {
	for name, value := range labels {
		if !slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == name && l.GetValue() == value }) {
			return false
		}
	}
	return true
}

// value returns the gauge or counter with these label values, in the order of the label names; -1 if there is none.
func value(there map[string]*dto.MetricFamily, name string, labels ...string) float64 {
	for _, m := range there[name].GetMetric() {
		var values []string
		for _, l := range m.GetLabel() {
			values = append(values, l.GetValue())
		}
		if slices.Equal(values, labels) {
			return m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return -1
}
