package apiserver

import (
	"errors"
	"fmt"
	"os"

	"github.com/prometheus/client_golang/prometheus"

	"k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"
)

// Certificate is a certificate that somebody else issues to the hub, and must renew.
type Certificate struct {
	// Use is what the hub uses it for: one of a fixed set of words.
	Use string
	// Data is the certificate in PEM; if it is empty, it is read from File at each scrape.
	Data []byte
	File string
}

// certificateCollector collects how long certificates remain valid. One that cannot be read is omitted: its user
// reports the error.
type certificateCollector struct {
	certificates        []Certificate
	clock               clock.PassiveClock
	remaining, lifetime *prometheus.Desc
}

// RegisterCertificateMetrics registers metrics about the remaining validity of certificates, until stop is called. Each
// of several hubs reports its own.
func RegisterCertificateMetrics(registry prometheus.Registerer, certificates []Certificate, clk clock.PassiveClock) (stop func(), err error) {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("fairlead_hub_certificate_"+name, help, []string{"certificate"}, nil)
	}
	c := &certificateCollector{
		certificates: certificates, clock: clk,
		remaining: desc("remaining_seconds", "For how long a certificate holds that somebody else issues to this hub: that of its kubeconfig, the one by which an etcd "+
			"knows it (etcd), or that of its dashboard; less than 0 once it has expired."),
		lifetime: desc("lifetime_seconds", "For how long that certificate holds in all, from its beginning."),
	}
	switch err := registry.Register(c); {
	case err == nil:
		return func() { registry.Unregister(c) }, nil
	case errors.As(err, new(prometheus.AlreadyRegisteredError)): // only in tests: another hub in this process has registered them
		return func() {}, nil
	default:
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
}

// Describe implements prometheus.Collector.
func (c *certificateCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.remaining
	ch <- c.lifetime
}

// Collect implements prometheus.Collector.
func (c *certificateCollector) Collect(ch chan<- prometheus.Metric) {
	for _, one := range c.certificates {
		data := one.Data
		if len(data) == 0 {
			var err error
			if data, err = os.ReadFile(one.File); err != nil {
				continue
			}
		}
		chain, err := cert.ParseCertsPEM(data)
		if err != nil {
			continue
		}
		ch <- prometheus.MustNewConstMetric(c.remaining, prometheus.GaugeValue, chain[0].NotAfter.Sub(c.clock.Now()).Seconds(), one.Use)
		ch <- prometheus.MustNewConstMetric(c.lifetime, prometheus.GaugeValue, chain[0].NotAfter.Sub(chain[0].NotBefore).Seconds(), one.Use)
	}
}
