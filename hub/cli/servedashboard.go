package cli

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"k8s.io/client-go/rest"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"fairlead.dev/hub/people/dashboard"
)

// dashboardFlags are the flags for the dashboard of `hub serve`.
type dashboardFlags struct {
	address  string
	certFile string
	// ownCertificate says that the operator gave the certificate, so the hub does not renew it.
	ownCertificate bool
	keyFile        string
	clientCA       string
	issuer         issuerFlags
}

func (f *dashboardFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.address, "dashboard-bind-address", "0.0.0.0:8443", "address of the dashboard, which is served over TLS; 0 for none (default with --kubeconfig: none, unless a certificate is given)")
	fs.StringVar(&f.certFile, "dashboard-cert-file", "", "certificate of the dashboard; read again when it changes (default: that of the embedded API)")
	fs.StringVar(&f.keyFile, "dashboard-key-file", "", "key of that certificate")
	fs.StringVar(&f.clientCA, "dashboard-client-ca-file", "", "authority of the client certificates that the hub's API accepts; people may then sign in with one (default: that of the embedded API)")
	f.issuer.add(fs)
}

// complete sets defaults; dataDir is empty for an external API.
func (f *dashboardFlags) complete(fs *pflag.FlagSet, dataDir string) error {
	if (f.certFile == "") != (f.keyFile == "") {
		return errors.New("--dashboard-cert-file and --dashboard-key-file go together")
	}
	if f.address == "" {
		f.address = "0"
	}
	f.ownCertificate = f.certFile != ""
	switch {
	case f.ownCertificate:
	case dataDir != "":
		f.certFile, f.keyFile = filepath.Join(dataDir, "pki", "apiserver.crt"), filepath.Join(dataDir, "pki", "apiserver.key")
	case fs.Changed("dashboard-bind-address") && f.address != "0":
		return errors.New("--dashboard-bind-address needs --dashboard-cert-file and --dashboard-key-file: with --kubeconfig there is no certificate of the hub's own")
	default:
		f.address = "0"
	}
	if f.clientCA == "" && dataDir != "" {
		f.clientCA = filepath.Join(dataDir, "pki", "ca.crt")
	}
	if f.address == "0" {
		name := f.issuer.given(fs)
		for _, file := range []string{"dashboard-cert-file", "dashboard-key-file", "dashboard-client-ca-file"} {
			if fs.Changed(file) {
				name = "--" + file
			}
		}
		if name != "" {
			return fmt.Errorf("%s is for the dashboard, and there is none: give --dashboard-bind-address an address", name)
		}
		return nil
	}
	return f.issuer.complete(fs, dataDir != "")
}

// served is the dashboard as a part of the hub. Every replica serves it, not only the leader.
type served struct {
	server *dashboard.Server
	listen net.Listener
	tls    *dashboard.TLS
}

// Start implements manager.Runnable.
func (s served) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { cancel(s.server.Run(ctx)) }()
	err := s.server.Serve(ctx, s.listen, s.tls)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (s served) NeedLeaderElection() bool { return false }

// addDashboard adds the dashboard to the manager, and returns its address; empty if it is disabled.
func (f *dashboardFlags) addDashboard(ctx context.Context, env Environment, mgr manager.Manager, cfg *rest.Config) (string, error) {
	if f.address == "0" {
		return "", nil
	}
	t := &dashboard.TLS{CertFile: f.certFile, KeyFile: f.keyFile}
	if f.clientCA != "" {
		raw, err := os.ReadFile(f.clientCA)
		if err != nil {
			return "", fmt.Errorf("--dashboard-client-ca-file: %w", err)
		}
		t.Clients = x509.NewCertPool()
		if !t.Clients.AppendCertsFromPEM(raw) {
			return "", fmt.Errorf("--dashboard-client-ca-file %s holds no certificate", f.clientCA)
		}
	}
	i, err := f.issuer.issuer(env.Clock)
	if err != nil {
		return "", err
	}
	server, err := dashboard.New(dashboard.Deps{
		Issuer: i, RedirectURL: f.issuer.redirectURL,
		Config: cfg, Mapper: mgr.GetRESTMapper(), Cache: mgr.GetCache(), Clock: env.Clock,
		Log: ctrl.LoggerFrom(ctx).WithName("dashboard"), Certificates: t.Clients != nil,
	})
	if err != nil {
		return "", err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", f.address)
	if err != nil {
		return "", fmt.Errorf("--dashboard-bind-address %s cannot be listened on: %w", f.address, err)
	}
	if err := mgr.Add(served{server, l, t}); err != nil {
		return "", errors.Join(fmt.Errorf("setting up the dashboard: %w", err), l.Close())
	}
	return l.Addr().String(), nil
}
