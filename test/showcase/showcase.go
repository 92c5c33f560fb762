package showcase

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"fairlead.dev/hub/machinery/apiserver"
	"fairlead.dev/hub/people/dashboard"
	"fairlead.dev/hub/people/issuer"
	"fairlead.dev/test/cluster"
)

// Showcase is a hub's API with a dashboard in front of it.
type Showcase struct {
	Hub *cluster.Cluster
	// Client has the rights of an administrator.
	Client client.Client
	// Server is the dashboard, URL its address.
	Server *dashboard.Server
	URL    string
	// Authority has signed its certificate.
	Authority *x509.CertPool
}

// start starts the API, which authenticates users with an AuthenticationConfiguration, and the dashboard, which lets
// them sign in at an issuer.
func start(tb testing.TB, authenticationConfig string, i *issuer.Issuer) *Showcase {
	tb.Helper()
	ctrl.SetLogger(logr.Discard()) // all messages are on the pages
	hub := cluster.Start(tb, cluster.Options{AuthenticationConfig: authenticationConfig})
	s := &Showcase{Hub: hub, Client: hub.Client(tb)}
	check(tb, apiserver.Install(tb.Context(), hub.Config, apiserver.Options{
		ClusterInfo: &apiserver.ClusterInfo{Servers: []string{hub.Config.Host}, CA: authority(tb, hub.Config)},
	}))
	fill(tb, s.Client)
	s.Authority = x509.NewCertPool()
	s.Authority.AppendCertsFromPEM(authority(tb, s.Hub.Config))
	s.Server, s.URL = s.Serve(tb, i, "")
	return s
}

// CAFile is the file with the authority of the dashboard's certificate.
func (s *Showcase) CAFile() string { return filepath.Join(s.Hub.DataDir, "pki", "ca.crt") }

func authority(tb testing.TB, cfg *rest.Config) []byte {
	tb.Helper()
	if len(cfg.CAData) > 0 {
		return cfg.CAData
	}
	raw, err := os.ReadFile(cfg.CAFile)
	check(tb, err)
	return raw
}

// Serve serves a dashboard with the certificate of the hub's API, as each of several hubs does. The issuer redirects to
// redirectURL, or back to the origin of the request if that is empty.
func (s *Showcase) Serve(tb testing.TB, i *issuer.Issuer, redirectURL string) (server *dashboard.Server, address string) {
	tb.Helper()
	return s.serve(tb, s.Hub.Config, i, redirectURL)
}

// ServeThrough serves a dashboard that reaches the hub's API, as the signed-in users, at another address.
func (s *Showcase) ServeThrough(tb testing.TB, host string) (server *dashboard.Server, address string) {
	tb.Helper()
	return s.serve(tb, &rest.Config{Host: host}, nil, "")
}

func (s *Showcase) serve(tb testing.TB, cfg *rest.Config, i *issuer.Issuer, redirectURL string) (server *dashboard.Server, address string) {
	tb.Helper()
	httpClient, err := rest.HTTPClientFor(s.Hub.Config)
	check(tb, err)
	mapper, err := apiutil.NewDynamicRESTMapper(s.Hub.Config, httpClient)
	check(tb, err)
	cached, err := dashboard.NewCache(s.Hub.Config, mapper, "")
	check(tb, err)
	server, err = dashboard.New(dashboard.Deps{
		Config: cfg, Mapper: mapper, Cache: cached, Clock: clock.RealClock{}, Log: logr.Discard(), Certificates: true,
		Issuer: i, RedirectURL: redirectURL,
	})
	check(tb, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(tb, err)
	ctx := tb.Context()
	done := make(chan error, 3)
	go func() { done <- cached.Start(ctx) }()
	go func() { done <- server.Run(ctx) }()
	pki := filepath.Join(s.Hub.DataDir, "pki")
	go func() {
		done <- server.Serve(ctx, l, &dashboard.TLS{
			CertFile: filepath.Join(pki, "apiserver.crt"), KeyFile: filepath.Join(pki, "apiserver.key"), Clients: s.Authority,
		})
	}()
	tb.Cleanup(func() { // the context has ended
		for range cap(done) {
			if err := <-done; err != nil {
				tb.Errorf("the dashboard stopped: %v", err)
			}
		}
	})
	return server, "https://" + l.Addr().String()
}

// HTTP returns a client that trusts the dashboard, presents the certificates, and does not follow redirects. It calls
// from this loopback address, because the dashboard counts the sign-in attempts of each address.
func (s *Showcase) HTTP(from string, certificates ...tls.Certificate) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	return &http.Client{
		Timeout: time.Minute,
		Transport: &http.Transport{
			DialContext:     dialer.DialContext,
			TLSClientConfig: &tls.Config{RootCAs: s.Authority, Certificates: certificates, MinVersion: tls.VersionTLS12},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Token returns a token of a service account with these rules, cluster-wide if the namespace is empty.
func (s *Showcase) Token(tb testing.TB, name, namespace string, rules ...rbacv1.PolicyRule) string {
	tb.Helper()
	name = "showcase-" + name // avoids the names of built-in roles
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name}}
	if err := s.Client.Create(tb.Context(), account); !apierrors.IsAlreadyExists(err) {
		check(tb, err)
	}
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: account.Namespace, Name: name}}
	var objects []client.Object
	if len(rules) > 0 && namespace == "" {
		objects = append(objects,
			&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules},
			&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}, Subjects: subjects})
	} else if len(rules) > 0 {
		objects = append(objects,
			&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Rules: rules},
			&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}, Subjects: subjects})
	}
	for _, obj := range objects {
		if err := s.Client.Create(tb.Context(), obj); !apierrors.IsAlreadyExists(err) {
			check(tb, err)
		}
	}
	request := &authenticationv1.TokenRequest{}
	scheme := s.Client.Scheme()
	check(tb, authenticationv1.AddToScheme(scheme))
	check(tb, s.Client.SubResource("token").Create(tb.Context(), account, request))
	s.awaitRights(tb, request.Status.Token, namespace, rules)
	return request.Status.Token
}

// awaitRights waits until the API server's authorizer knows new rules.
func (s *Showcase) awaitRights(tb testing.TB, token, namespace string, rules []rbacv1.PolicyRule) {
	tb.Helper()
	if len(rules) == 0 {
		return
	}
	cfg := rest.AnonymousClientConfig(s.Hub.Config)
	cfg.BearerToken = token
	scheme := s.Client.Scheme()
	check(tb, authorizationv1.AddToScheme(scheme))
	them, err := client.New(cfg, client.Options{Scheme: scheme})
	check(tb, err)
	last := rules[len(rules)-1]
	check(tb, wait.PollUntilContextTimeout(tb.Context(), settlePoll, settleTimeout, true, func(ctx context.Context) (bool, error) {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: last.Verbs[0], Group: last.APIGroups[0], Resource: last.Resources[0],
		}}}
		err := them.Create(ctx, review)
		return review.Status.Allowed, err
	}))
}

// Everything returns the rules of an administrator.
func Everything() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(fmt.Errorf("setting up the showcase: %w", err))
	}
}

// Reads returns the rules of a user who may view the applications of a namespace.
func Reads() []rbacv1.PolicyRule {
	look := []string{"get", "list", "watch"}
	return []rbacv1.PolicyRule{
		{APIGroups: []string{"policy.karmada.io"}, Resources: []string{"propagationpolicies"}, Verbs: look},
		{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: look},
		{APIGroups: []string{"work.karmada.io"}, Resources: []string{"resourcebindings"}, Verbs: []string{"list", "get", "watch"}},
	}
}
