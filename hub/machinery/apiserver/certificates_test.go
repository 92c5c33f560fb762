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

func TestHowLongCertificatesOfOthersHoldIsTold(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	clk := clocktesting.NewFakePassiveClock(now)
	made := func(now time.Time) (*x509.Certificate, []byte) {
		cert, _, err := authority.Make(&x509.Certificate{}, now)
		g.Expect(err).NotTo(HaveOccurred())
		return cert, authority.Bundle{cert}.Encode()
	}
	first, inline := made(now)
	second, later := made(now.Add(time.Hour))
	file := filepath.Join(t.TempDir(), "tls.crt")
	registry := prometheus.NewRegistry()
	stop, err := RegisterCertificateMetrics(registry, []Certificate{{Use: "kubeconfig", Data: inline}, {Use: "dashboard", File: file}}, clk)
	g.Expect(err).NotTo(HaveOccurred())
	told := func() map[string]float64 {
		families, err := registry.Gather()
		g.Expect(err).NotTo(HaveOccurred())
		out := map[string]float64{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				out[f.GetName()+" "+m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
			}
		}
		return out
	}
	const remaining, lifetime = "fairlead_hub_certificate_remaining_seconds ", "fairlead_hub_certificate_lifetime_seconds "
	clk.SetTime(first.NotAfter.Add(time.Minute))
	expected := map[string]float64{remaining + "kubeconfig": -60, lifetime + "kubeconfig": first.NotAfter.Sub(first.NotBefore).Seconds()}
	g.Expect(told()).To(Equal(expected), "what cannot be read is left out")

	g.Expect(os.WriteFile(file, later, 0o600)).To(Succeed())
	expected[remaining+"dashboard"], expected[lifetime+"dashboard"] = 3540, second.NotAfter.Sub(second.NotBefore).Seconds()
	g.Expect(told()).To(Equal(expected), "the file is read again")
	stop()
	g.Expect(told()).To(BeEmpty())
}
