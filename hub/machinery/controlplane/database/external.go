package database

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"fairlead.dev/hub/machinery/controlplane/args"
)

// memberTimeout is how long a member of an etcd may take to respond.
const memberTimeout = 5 * time.Second

// keepAlive is how often an idle connection is probed; etcd allows no less.
const keepAlive = 10 * time.Second

// ErrNoAnswer says that an external etcd does not serve now.
var ErrNoAnswer = errors.New("the etcd that --etcd-servers names does not serve")

// ErrNotLetIn says that an external etcd refuses the certificates or rights, so that waiting does not help.
var ErrNotLetIn = errors.New("the etcd that --etcd-servers names cannot be used")

// Dial returns a client of an external database once a majority of its members has responded.
func Dial(ctx context.Context, e args.ExternalEtcd) (*clientv3.Client, error) {
	config, err := clientTLS(e)
	if err != nil {
		return nil, err
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: e.Servers, DialTimeout: dialTimeout, DialKeepAliveTime: keepAlive, DialKeepAliveTimeout: memberTimeout,
		TLS: config, Context: context.WithoutCancel(ctx), Logger: zap.NewNop(), // the caller reports errors
	})
	if err != nil {
		return nil, fmt.Errorf("connecting to the etcd that --etcd-servers names: %w", err)
	}
	if !reachable(ctx, e, config) { // otherwise it would be noticed later
		err = explain(ctx, client, config, e, errNoLeader)
		_ = client.Close()
		return nil, err
	}
	asking, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if _, err := client.Get(asking, e.Prefix, clientv3.WithKeysOnly(), clientv3.WithLimit(1)); err != nil {
		err = explain(ctx, client, config, e, err)
		_ = client.Close()
		return nil, err
	}
	return client, nil
}

// clientTLS returns the TLS configuration for the members; nil for plain connections.
func clientTLS(e args.ExternalEtcd) (*tls.Config, error) {
	if u, err := url.Parse(e.Servers[0]); err == nil && u.Scheme != "https" {
		return nil, nil //nolint:nilnil // nil means plain connections
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if e.CAFile != "" {
		data, err := os.ReadFile(e.CAFile)
		if err != nil {
			return nil, fmt.Errorf("--etcd-cafile cannot be read: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("--etcd-cafile %s holds no certificate in PEM", e.CAFile)
		}
	}
	if e.CertFile == "" {
		return config, nil
	}
	for flag, file := range map[string]string{"etcd-certfile": e.CertFile, "etcd-keyfile": e.KeyFile} {
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("--%s cannot be read: %w", flag, err)
		}
	}
	if _, err := tls.LoadX509KeyPair(e.CertFile, e.KeyFile); err != nil {
		return nil, fmt.Errorf("--etcd-certfile %s and --etcd-keyfile %s are no certificate and its key: %w", e.CertFile, e.KeyFile, err)
	}
	// Read for each connection, so that a renewed certificate is used.
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(e.CertFile, e.KeyFile)
		return &pair, err
	}
	return config, nil
}

// explain says what is wrong with each member, and what to do.
func explain(ctx context.Context, client *clientv3.Client, config *tls.Config, e args.ExternalEtcd, cause error) error {
	if errors.Is(cause, rpctypes.ErrPermissionDenied) || errors.Is(cause, rpctypes.ErrUserEmpty) {
		return fmt.Errorf("%w: the user that --etcd-certfile names may not read below %s: grant its role read and write there, or name another --etcd-prefix", ErrNotLetIn, e.Prefix)
	}
	var lines []string
	what := ErrNotLetIn
	for _, server := range e.Servers {
		err := checkMember(ctx, server, config)
		if err == nil {
			err = status(ctx, client, server)
		}
		if err == nil {
			err = cause
		}
		why, lasts := advice(err)
		if !lasts {
			what = ErrNoAnswer
		}
		lines = append(lines, server+": "+why)
	}
	return fmt.Errorf("%w:\n  %s", what, strings.Join(lines, "\n  "))
}

// reachable says whether any member accepts connections.
func reachable(ctx context.Context, e args.ExternalEtcd, config *tls.Config) bool {
	return slices.ContainsFunc(e.Servers, func(server string) bool { return checkMember(ctx, server, config) == nil })
}

// checkMember connects to one member, since the etcd client does not report why it cannot.
func checkMember(ctx context.Context, server string, config *tls.Config) error {
	u, err := url.Parse(server)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	if config == nil {
		conn, err := dialer().DialContext(ctx, "tcp", u.Host)
		if err == nil {
			err = conn.Close()
		}
		return err
	}
	d := tls.Dialer{NetDialer: dialer(), Config: config.Clone()}
	conn, err := d.DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	// With TLS 1.3 a member rejects a client certificate only after the handshake.
	_ = conn.SetReadDeadline(time.Now().Add(refusalTimeout))
	if _, err := conn.Read(make([]byte, 1)); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) && !isEOF(err) {
		return err
	}
	return nil
}

// errNoLeader says that a member responds but cannot serve.
var errNoLeader = errors.New("it answers, but a majority of the members is missing")

func status(ctx context.Context, client *clientv3.Client, server string) error {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	answer, err := client.Status(ctx, server)
	if err == nil && answer.Leader == 0 {
		return errNoLeader
	}
	return err
}

// remoteError is how crypto/tls marks errors that the other side sent.
const remoteError = "remote error"

// advice says what to do about a member that cannot be used, and whether somebody must act for it to recover.
func advice(err error) (why string, lasts bool) {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var operation *net.OpError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &authority):
		return "its certificate is not of the authority in --etcd-cafile: name that of this etcd", true
	case errors.As(err, &host):
		return fmt.Sprintf("%v: name it as its certificate does", err), true
	case errors.As(err, &invalid):
		return fmt.Sprintf("%v: look at the clocks of both machines, or renew the certificate", err), false
	case errors.As(err, &record):
		return "it does not speak TLS: its URL begins with http://, or the port is another", true
	case errors.As(err, &operation) && operation.Op == remoteError:
		return fmt.Sprintf("it refuses the certificate of --etcd-certfile (%v): name one of the authority that this etcd was given with --trusted-ca-file", operation.Err), true
	case errors.Is(err, errNoLeader):
		return fmt.Sprintf("%v: start the others", err), false
	case errors.Is(err, context.DeadlineExceeded):
		return "it does not answer in time: look whether it runs, and at the firewall", false
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return err.Error(), false
	default:
		return fmt.Sprintf("%v: look whether it runs, and at the firewall", err), false
	}
}

// refusalTimeout is how long a member may take to reject a certificate.
const refusalTimeout = 500 * time.Millisecond

func dialer() *net.Dialer { return &net.Dialer{Timeout: memberTimeout} }

func isEOF(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
