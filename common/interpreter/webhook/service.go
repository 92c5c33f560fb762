package webhook

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
)

// defaultPort is the default port of a Service.
const defaultPort = 443

// service is a Service that serves a webhook. Its certificate is for <name>.<namespace>.svc, whatever the address of
// the connection.
type service struct {
	configv1alpha1.ServiceReference

	port   int32
	reader client.Reader
}

func newService(ref configv1alpha1.ServiceReference, reader client.Reader) service {
	s := service{ServiceReference: ref, port: defaultPort, reader: reader}
	if ref.Port != nil {
		s.port = *ref.Port
	}
	return s
}

func (s service) host() string { return s.Name + "." + s.Namespace + ".svc" }

func (s service) at(host string) string { return net.JoinHostPort(host, strconv.Itoa(int(s.port))) }

func (s service) url() *url.URL {
	u := &url.URL{Scheme: "https", Host: s.at(s.host()), Path: "/"}
	if s.Path != nil {
		u.Path = "/" + strings.TrimPrefix(*s.Path, "/")
	}
	return u
}

// dial connects to the present address of the Service.
func (s service) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	address, err := s.resolve(ctx)
	if err != nil {
		return nil, err
	}
	var dialer net.Dialer
	return dialer.DialContext(ctx, network, address)
}

// resolve returns the address of the Service. A Service that does not exist may still resolve through DNS.
func (s service) resolve(ctx context.Context) (string, error) {
	live := &corev1.Service{}
	err := s.reader.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Name}, live)
	switch {
	case apierrors.IsNotFound(err):
		return s.at(s.host()), nil
	case err != nil:
		return "", fmt.Errorf("reading Service %q: %w", s.Namespace+"/"+s.Name, err)
	case live.Spec.Type == corev1.ServiceTypeExternalName:
		return s.at(live.Spec.ExternalName), nil
	case !slices.ContainsFunc(live.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == s.port }):
		return "", fmt.Errorf("service %q has no port %d", s.Namespace+"/"+s.Name, s.port)
	case live.Spec.ClusterIP == "" || live.Spec.ClusterIP == corev1.ClusterIPNone:
		return "", fmt.Errorf("service %q is headless; it needs a cluster IP", s.Namespace+"/"+s.Name)
	default:
		return s.at(live.Spec.ClusterIP), nil
	}
}
