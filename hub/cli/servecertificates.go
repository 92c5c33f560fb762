package cli

import (
	"strings"

	"k8s.io/client-go/rest"

	"fairlead.dev/hub/machinery/apiserver"
)

// The names, in metrics, of certificates that somebody else issues to the hub.
const (
	kubeconfigCertificate = "kubeconfig"
	etcdCertificate       = "etcd"
	dashboardCertificate  = "dashboard"
)

// certificates returns the certificates that the hub uses and does not renew itself.
func (f *serveFlags) certificates(cfg *rest.Config) []apiserver.Certificate {
	var out []apiserver.Certificate
	if f.kubeconfig != "" && (cfg.CertFile != "" || len(cfg.CertData) > 0) {
		out = append(out, apiserver.Certificate{Use: kubeconfigCertificate, Data: cfg.CertData, File: cfg.CertFile})
	}
	for _, flag := range f.passed {
		if file, ok := strings.CutPrefix(flag, "--etcd-certfile="); ok && file != "" {
			out = append(out, apiserver.Certificate{Use: etcdCertificate, File: file})
		}
	}
	if f.dashboard.address != "0" && f.dashboard.ownCertificate {
		out = append(out, apiserver.Certificate{Use: dashboardCertificate, File: f.dashboard.certFile})
	}
	return out
}
