package cli

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"fairlead.dev/hub/machinery/apiserver"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/issuer"
	"fairlead.dev/test/process"
)

// waitTimeout is how long a hub may take to start on a busy machine.
const waitTimeout = 2 * time.Minute

// ownAPI returns the executable of the embedded API, and a data directory for it.
func ownAPI(t *testing.T) (binary, dir string) {
	t.Helper()
	g := NewWithT(t)
	binary, err := cluster.Executable("controlplane")
	g.Expect(err).NotTo(HaveOccurred())
	dir, err = os.MkdirTemp("/tmp", "fairlead-serve-") //nolint:usetesting // the path of a socket must be short
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(process.Remove(dir)).To(Succeed()) })
	return binary, dir
}

// TestServeWithItsOwnAPI runs a whole hub with kube-apiserver's flags for an OIDC issuer, which the dashboard uses as
// well.
func TestServeWithItsOwnAPI(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	binary, dir := ownAPI(t)
	admin := filepath.Join(t.TempDir(), "admin.kubeconfig")
	i := issuer.Start(t)
	i.SignIn("anna", "system:masters", "operators")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	var hub execution
	status := make(chan int, 1)
	go func() {
		status <- hub.run(ctx, "serve", "--data-dir", dir, "--secure-port", "0", "--controlplane-binary", binary,
			"--advertise-url", "https://hub.example.com:8443", "--admin-kubeconfig", admin, "--admin-context", "mine",
			"--metrics-bind-address", "0", "--dashboard-bind-address", "127.0.0.1:0",
			"--oidc-issuer-url", i.URL, "--oidc-client-id", i.ClientID, "--oidc-ca-file", i.CAFile,
			"--oidc-username-prefix", "sso:", "--oidc-groups-claim", "groups", "--oidc-groups-prefix", "sso:")
	}()
	g.Eventually(hub.err.String).WithTimeout(waitTimeout).Should(ContainSubstring("Hub is ready"))
	g.Expect(hub.err.String()).To(ContainSubstring("https://hub.example.com:8443"))
	g.Expect(hub.err.String()).To(ContainSubstring("hub token create --cluster NAME --kubeconfig " + admin))

	expectDashboard(t, hub.err.String(), filepath.Join(dir, "pki", "ca.crt"))

	told := func() []string {
		families, err := metrics.Registry.Gather()
		g.Expect(err).NotTo(HaveOccurred())
		var names []string
		for _, f := range families {
			names = append(names, f.GetName())
		}
		return names
	}
	g.Expect(told()).To(ContainElements("fairlead_hub_database_in_use_bytes", "fairlead_hub_database_quota_bytes",
		"fairlead_hub_authority_remaining_seconds", "fairlead_hub_front_proxy_authority_remaining_seconds"))

	var token execution
	g.Expect(token.run(ctx, "token", "create", "--cluster", "edge-1", "--kubeconfig", admin, "--context", "mine")).To(BeZero(), token.err.String())
	g.Expect(token.out.String()).To(HavePrefix("agent join hub.example.com:8443 --token "))

	at := regexp.MustCompile(`The dashboard: +(https://\S+)`).FindStringSubmatch(hub.err.String())
	g.Expect(at).To(HaveLen(2))
	i.Allow(at[1] + "/signin/oidc/callback")
	b := issuer.NewBrowser(t, filepath.Join(dir, "pki", "ca.crt"), i.CAFile)
	g.Eventually(func() string { return b.Open(at[1] + "/signin/oidc?to=/clusters").Text }).
		WithTimeout(waitTimeout).WithPolling(time.Second).Should(ContainSubstring("sso:anna may not list clusters.cluster.karmada.io"), "no group of hers is one of the hub's")

	config, err := clientcmd.BuildConfigFromFlags("", admin)
	g.Expect(err).NotTo(HaveOccurred())
	hubClient, err := client.New(config, client.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(hubClient.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "operators"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: "sso:operators"}},
	})).To(Succeed())
	g.Eventually(func() int { return b.Open(at[1] + "/clusters").Code }).WithTimeout(waitTimeout).WithPolling(time.Second).Should(Equal(http.StatusOK))

	cancel()
	g.Eventually(status).WithTimeout(waitTimeout).Should(Receive(BeZero()))
	g.Expect(hub.err.String()).NotTo(ContainSubstring("Error:"))
}

func TestServeEndsWithItsAPI(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dir := t.TempDir()
	fake := filepath.Join(dir, "controlplane")
	g.Expect(os.WriteFile(fake, []byte("#!/bin/sh\necho 'controlplane: cannot serve: the port is taken' >&2\nexit 1\n"), 0o700)).To(Succeed())
	var hub execution
	g.Expect(hub.run(t.Context(), "serve", "--data-dir", filepath.Join(dir, "data"), "--controlplane-binary", fake, "--metrics-bind-address", "0", "--dashboard-bind-address", "0")).To(Equal(1))
	g.Expect(hub.lastLine()).To(Equal("Error: the embedded API does not start: cannot serve: the port is taken"))
}

func TestServeOnAnAPIOfSomebodyElse(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	theirs := cluster.Start(t, cluster.Options{Name: "theirs"})
	// An API server that no hub was installed into is not taken for a hub's.
	var early execution
	g.Expect(early.run(t.Context(), "token", "create", "--cluster", "edge-1", "--kubeconfig", theirs.Kubeconfig)).To(Equal(1))
	g.Expect(early.lastLine()).To(HavePrefix("Error: the API server of the kubeconfig is not a hub"))
	secrets := &corev1.SecretList{}
	g.Expect(theirs.Client(t).List(t.Context(), secrets)).To(Succeed())
	g.Expect(secrets.Items).To(BeEmpty())

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var first, second execution
	done := make(chan int, 2)
	serve := func(e *execution) {
		done <- e.run(ctx, "serve", "--kubeconfig", theirs.Kubeconfig, "--metrics-bind-address", "0", "--log-format", "json")
	}
	go serve(&first)
	g.Eventually(first.err.String).WithTimeout(waitTimeout).Should(ContainSubstring("Hub is ready"))
	info, err := apiserver.GetClusterInfo(ctx, theirs.Client(t))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Servers).To(ConsistOf(theirs.Config.Host))

	// A second hub on the same API waits until the first one stops.
	go serve(&second)
	g.Eventually(second.err.String).WithTimeout(waitTimeout).Should(ContainSubstring("The hub's API"))
	g.Consistently(second.err.String).WithTimeout(3 * time.Second).ShouldNot(ContainSubstring("Hub is ready"))

	cancel()
	for range 2 {
		g.Eventually(done).WithTimeout(waitTimeout).Should(Receive(BeZero()))
	}
}

func TestKubeconfigs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := cluster.Shared(t, cluster.Options{})
	want := func(f hubFlags, env map[string]string) {
		t.Helper()
		cfg, err := f.config(Environment{Getenv: func(key string) string { return env[key] }})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(cfg.Host).To(Equal(hub.Config.Host))
	}
	dir := t.TempDir()
	config, err := clientcmd.LoadFromFile(hub.Kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(clientcmd.WriteToFile(*config, adminKubeconfig(dir))).To(Succeed())

	want(hubFlags{kubeconfig: hub.Kubeconfig}, map[string]string{kubeconfigEnv: "/absent"})
	want(hubFlags{dataDir: "/absent"}, map[string]string{kubeconfigEnv: "/absent" + string(os.PathListSeparator) + hub.Kubeconfig})
	want(hubFlags{dataDir: dir}, nil)
	want(hubFlags{kubeconfig: hub.Kubeconfig, context: "hub"}, nil)
	_, err = hubFlags{kubeconfig: hub.Kubeconfig, context: "spoke"}.config(Environment{})
	g.Expect(err).To(MatchError(ContainSubstring("spoke")))
	_, err = hubFlags{dataDir: "/absent"}.config(Environment{Getenv: func(key string) string { return strings.Repeat("/absent", len(key)) }})
	g.Expect(err).To(HaveOccurred())
}
