package webhook_test

import (
	"cmp"
	"context"
	"net"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
)

// services holds at most one Service.
type services struct {
	client.Reader

	spec *corev1.ServiceSpec
}

func (s services) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if s.spec == nil {
		return apierrors.NewNotFound(corev1.Resource("services"), key.Name)
	}
	if service, ok := obj.(*corev1.Service); ok {
		service.Spec = *s.spec
	}
	return nil
}

func TestAServiceIsResolved(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		spec func(ip string, port int32) *corev1.ServiceSpec
		name string // mills if empty
		err  string // none if empty
	}{
		"by its cluster IP": {
			spec: func(ip string, port int32) *corev1.ServiceSpec {
				return &corev1.ServiceSpec{ClusterIP: ip, Ports: []corev1.ServicePort{{Port: 80}, {Port: port}}}
			},
		},
		"and must be the one that the certificate is for": {
			spec: func(ip string, port int32) *corev1.ServiceSpec {
				return &corev1.ServiceSpec{ClusterIP: ip, Ports: []corev1.ServicePort{{Port: port}}}
			},
			name: "barns", err: "not barns.farm.svc",
		},
		"by its external name": {
			spec: func(ip string, _ int32) *corev1.ServiceSpec {
				return &corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: ip}
			},
		},
		"without the port": {
			spec: func(ip string, _ int32) *corev1.ServiceSpec { return &corev1.ServiceSpec{ClusterIP: ip} },
			err:  `service "farm/mills" has no port`,
		},
		"headless": {
			spec: func(_ string, port int32) *corev1.ServiceSpec {
				return &corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Port: port}}}
			},
			err: "is headless",
		},
		"by DNS if there is none": {
			spec: func(string, int32) *corev1.ServiceSpec { return nil },
			err:  "lookup mills.farm.svc",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			s := serve(t, saying(`,"healthy":true`))
			ip, text, err := net.SplitHostPort(s.Listener.Addr().String())
			g.Expect(err).NotTo(HaveOccurred())
			port, err := strconv.ParseInt(text, 10, 32)
			g.Expect(err).NotTo(HaveOccurred())
			hook := s.hook()
			hook.ClientConfig = configv1alpha1.WebhookClientConfig{CABundle: s.ca(), Service: &configv1alpha1.ServiceReference{
				Namespace: "farm", Name: cmp.Or(tc.name, "mills"), Path: new("ask/all"), Port: new(int32(port)),
			}}
			_, err = asking(hook, services{spec: tc.spec(ip, int32(port))}).Health(t.Context(), mill())
			if tc.err == "" {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(s.path).To(Equal("/ask/all"))
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(tc.err)))
		})
	}
}
