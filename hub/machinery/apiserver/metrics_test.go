package apiserver

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	clocktesting "k8s.io/utils/clock/testing"

	"fairlead.dev/hub/machinery/apiserver/authority"
)

func TestTheStateOfAnEmbeddedAPIIsTold(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dir, now := t.TempDir(), time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	clk := clocktesting.NewFakePassiveClock(now)
	registry := prometheus.NewRegistry()
	stop, err := RegisterStateMetrics(registry, dir, clk)
	g.Expect(err).NotTo(HaveOccurred())
	told := func() map[string]float64 {
		families, err := registry.Gather()
		g.Expect(err).NotTo(HaveOccurred())
		out := map[string]float64{}
		for _, f := range families {
			out[f.GetName()] = f.GetMetric()[0].GetGauge().GetValue()
		}
		return out
	}
	g.Expect(told()).To(BeEmpty(), "there is nothing yet, and that is no failure")

	write := func(name string, data []byte) {
		path := filepath.Join(dir, name)
		g.Expect(os.MkdirAll(filepath.Dir(path), 0o700)).To(Succeed())
		g.Expect(os.WriteFile(path, data, 0o600)).To(Succeed())
	}
	made := func(now time.Time) *x509.Certificate {
		cert, _, err := authority.Make(&x509.Certificate{}, now)
		g.Expect(err).NotTo(HaveOccurred())
		return cert
	}
	old, next := made(now), made(now.Add(time.Hour))
	write("run/database.json", []byte(`{"size":6000,"inUse":5000,"quota":8000}`))
	write("pki/ca.crt", authority.Bundle{old, next}.Encode())
	write("pki/front-proxy-ca.crt", authority.Bundle{next}.Encode())
	clk.SetTime(old.NotAfter.Add(-time.Minute))
	g.Expect(told()).To(Equal(map[string]float64{
		"fairlead_hub_database_bytes": 6000, "fairlead_hub_database_in_use_bytes": 5000, "fairlead_hub_database_quota_bytes": 8000,
		"fairlead_hub_authority_remaining_seconds": 60, "fairlead_hub_front_proxy_authority_remaining_seconds": 3660,
	}))

	write("run/database.json", []byte(`{"size":`))
	g.Expect(told()).To(And(HaveLen(2), HaveKey("fairlead_hub_authority_remaining_seconds")), "what can be read is told")
	stop()
	g.Expect(told()).To(BeEmpty())
}
