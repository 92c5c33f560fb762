package apiserver

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"k8s.io/utils/clock"

	"fairlead.dev/hub/machinery/apiserver/authority"
)

// stateCollector collects the metrics of an embedded API: how full its database is, and when its authorities expire. It reads the data
// directory at each scrape; a value that cannot be read is left out.
type stateCollector struct {
	dataDir                               string
	clock                                 clock.PassiveClock
	size, inUse, quota, signs, frontProxy *prometheus.Desc
}

// RegisterStateMetrics registers metrics about the embedded API in a data directory, until stop is called. Each of
// several hubs reports its own.
func RegisterStateMetrics(registry prometheus.Registerer, dataDir string, clk clock.PassiveClock) (stop func(), err error) {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("fairlead_hub_"+name, help, nil, nil)
	}
	s := &stateCollector{
		dataDir: dataDir, clock: clk,
		size:       desc("database_bytes", "Size of the file of the API's database, of an etcd of yours that of its fullest member; looked at each minute."),
		inUse:      desc("database_in_use_bytes", "What of that file holds something, old revisions included."),
		quota:      desc("database_quota_bytes", "How large that file may become; beyond that nothing is written."),
		signs:      desc("authority_remaining_seconds", "For how long the certificate authority holds that signs for this hub and its agents; less than 0 once it has expired."),
		frontProxy: desc("front_proxy_authority_remaining_seconds", "For how long the front-proxy authority of this hub's API holds; less than 0 once it has expired."),
	}
	switch err := registry.Register(s); {
	case err == nil:
		return func() { registry.Unregister(s) }, nil
	case errors.As(err, new(prometheus.AlreadyRegisteredError)): // only in tests: another hub in this process has registered them
		return func() {}, nil
	default:
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
}

// Describe implements prometheus.Collector.
func (s *stateCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{s.size, s.inUse, s.quota, s.signs, s.frontProxy} {
		ch <- desc
	}
}

// Collect implements prometheus.Collector.
func (s *stateCollector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value)
	}
	var space struct{ Size, InUse, Quota float64 } // must match database.Space of the program
	if data, err := os.ReadFile(filepath.Join(s.dataDir, "run", "database.json")); err == nil && json.Unmarshal(data, &space) == nil {
		gauge(s.size, space.Size)
		gauge(s.inUse, space.InUse)
		gauge(s.quota, space.Quota)
	}
	left := func(until time.Time) float64 { return until.Sub(s.clock.Now()).Seconds() }
	if data, err := os.ReadFile(filepath.Join(s.dataDir, "pki", "ca.crt")); err == nil {
		if bundle, err := authority.Parse(data); err == nil {
			gauge(s.signs, left(bundle.Signs().NotAfter))
		}
	}
	if data, err := os.ReadFile(filepath.Join(s.dataDir, "pki", "front-proxy-ca.crt")); err == nil {
		if block, _ := pem.Decode(data); block != nil {
			if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
				gauge(s.frontProxy, left(cert.NotAfter))
			}
		}
	}
}
