package kubelet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	"k8s.io/utils/clock"

	"fairlead.dev/hub/machinery/controlplane/process"
)

const (
	// ClientName is the common name of the only permitted client, kube-apiserver.
	ClientName = "kube-apiserver-kubelet-client"
	// Address is the address of the kubelet.
	Address = "127.0.0.1"

	idleTimeout   = 4 * time.Hour
	headerTimeout = 10 * time.Second
)

// Options are the settings of the server.
type Options struct {
	// CertFile and KeyFile are the serving certificate, and ClientCAFile is the authority of kube-apiserver's client
	// certificate.
	CertFile, KeyFile, ClientCAFile string
	// Dir is the directory of the containers.
	Dir   string
	API   kubernetes.Interface
	Clock clock.WithTicker
	Logs  io.Writer
}

// Run serves until the context ends, and then ends the programs that exec started.
func Run(ctx context.Context, o Options) error {
	config, err := serving(o)
	if err != nil {
		return err
	}
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", net.JoinHostPort(Address, "0"))
	if err != nil {
		return fmt.Errorf("listening for kube-apiserver: %w", err)
	}
	address, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return fmt.Errorf("listening for kube-apiserver: %s is no TCP address", l.Addr())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go announce(ctx, o.API, int32(address.Port))

	pods := &pods{dir: o.Dir, api: o.API, clock: o.Clock, forker: process.NewForker()}
	server := &http.Server{
		Handler:           pods.handler(),
		TLSConfig:         config,
		ReadHeaderTimeout: headerTimeout,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ErrorLog:          log.New(o.Logs, "", log.LstdFlags),
	}
	ended := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer ended()
	if err := server.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving kube-apiserver: %w", err)
	}
	return nil
}

// serving returns a TLS configuration that only admits kube-apiserver.
func serving(o Options) (*tls.Config, error) {
	pair := &reloaded{certFile: o.CertFile, keyFile: o.KeyFile}
	if _, err := pair.certificate(nil); err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(o.ClientCAFile)
	if err != nil {
		return nil, fmt.Errorf("reading the authority of kube-apiserver: %w", err)
	}
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(ca)
	return &tls.Config{
		MinVersion: tls.VersionTLS12, GetCertificate: pair.certificate, NextProtos: []string{"http/1.1"},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients,
		VerifyConnection: func(s tls.ConnectionState) error {
			if name := s.PeerCertificates[0].Subject.CommonName; name != ClientName {
				return fmt.Errorf("%q is not kube-apiserver", name)
			}
			return nil
		},
	}, nil
}

// reloaded is a certificate that may be renewed while it is used.
type reloaded struct {
	certFile, keyFile string
	last              atomic.Pointer[tls.Certificate]
}

// certificate returns the present certificate, or the previous one while its files are being replaced.
func (r *reloaded) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	now, err := tls.LoadX509KeyPair(r.certFile, r.keyFile)
	if err == nil {
		r.last.Store(&now)
	}
	if last := r.last.Load(); last != nil {
		return last, nil
	}
	return nil, fmt.Errorf("reading the certificate of the kubelets: %w", err)
}

// handler serves the paths of the kubelet API that kube-apiserver uses.
func (p *pods) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", p.serveLogs)
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		mux.HandleFunc(method+" /exec/{namespace}/{pod}/{container}", p.serveExec)
		mux.HandleFunc(method+" /attach/{namespace}/{pod}/{container}", p.serveAttach)
		mux.HandleFunc(method+" /portForward/{namespace}/{pod}", p.servePortForward)
	}
	return mux
}

// name returns the name of a pod as the library passes it on.
func name(r *http.Request) string { return r.PathValue("namespace") + "/" + r.PathValue("pod") }

func (p *pods) serveExec(w http.ResponseWriter, r *http.Request) {
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	remotecommand.ServeExec(w, r, p, name(r), "", r.PathValue("container"), r.URL.Query()["command"], options,
		idleTimeout, remotecommand.DefaultStreamCreationTimeout, remotecommand.SupportedStreamingProtocols)
}

func (p *pods) serveAttach(w http.ResponseWriter, r *http.Request) {
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	remotecommand.ServeAttach(w, r, p, name(r), "", r.PathValue("container"), options,
		idleTimeout, remotecommand.DefaultStreamCreationTimeout, remotecommand.SupportedStreamingProtocols)
}

func (p *pods) servePortForward(w http.ResponseWriter, r *http.Request) {
	options, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(w, r, p, name(r), "", options,
		idleTimeout, remotecommand.DefaultStreamCreationTimeout, portforward.SupportedProtocols)
}
