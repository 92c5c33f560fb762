package install

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/kubernetes/scheme"
	testingclock "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"fairlead.dev/agent/access"
	"fairlead.dev/agent/install"
	"fairlead.dev/agent/install/manifest"
	"fairlead.dev/test/cluster"
)

// owned is a member whose owner uses Helm and the agent's commands. Its tests run one after the other, before the
// parallel ones.
type owned struct {
	*cluster.Cluster
	client.Client

	g         *WithT
	t         *testing.T
	installer *install.Installer
}

func newOwned(t *testing.T) *owned {
	t.Helper()
	w := &owned{Cluster: cluster.Shared(t, cluster.Options{Profile: cluster.Member}), g: NewWithT(t), t: t}
	var err error
	w.Client, err = client.New(w.Config, client.Options{Scheme: scheme.Scheme})
	w.g.Expect(err).NotTo(HaveOccurred())
	w.installer, err = install.New(w.Config)
	w.g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { w.g.Expect(w.installer.Remove(context.Background())).To(Succeed()) })
	return w
}

// helm runs Helm on the agent's release.
func (w *owned) helm(args ...string) {
	w.t.Helper()
	succeed(w.t, "helm", append(args, "--kubeconfig", w.Kubeconfig, "--namespace", agentNamespace)...)
}

// values writes a values file.
func (w *owned) values(v any) string {
	w.t.Helper()
	text, err := yaml.Marshal(v)
	w.g.Expect(err).NotTo(HaveOccurred())
	path := filepath.Join(w.t.TempDir(), "values.yaml")
	w.g.Expect(os.WriteFile(path, text, 0o600)).To(Succeed())
	return path
}

// away removes the agent from the member, including what Helm keeps.
func (w *owned) away() {
	w.t.Helper()
	w.helm("uninstall", manifest.Name)
	w.g.Expect(w.installer.Remove(w.t.Context())).To(Succeed())
}

func TestHelmLetsNobodyInWhomTheOwnerShutOut(t *testing.T) { //nolint:paralleltest // There is one agent in a member.
	w := newOwned(t)
	clock := testingclock.NewFakeClock(time.Now())
	handler, err := access.New(t.Context(), access.Options{Cluster: "edge-1", Member: w.Config, StateDir: t.TempDir(), Clock: clock})
	w.g.Expect(err).NotTo(HaveOccurred())
	ops := w.values(agentValues(values{"operators": values{"who": []any{"group:ops"}}}))
	chart := file(t, "..", "charts", "agent")
	expect := func(want string) {
		t.Helper()
		clock.Step(time.Minute)
		w.g.Expect(handler.Summary(t.Context())).To(Equal(want))
	}
	says := func(args ...string) string {
		t.Helper()
		return succeed(t, "agent", append([]string{"operators", "--kubeconfig", w.Kubeconfig}, args...)...)
	}

	w.helm("install", manifest.Name, chart, "--create-namespace", "--values", ops)
	expect("read for group:ops")
	w.g.Expect(says()).To(ContainSubstring("read for group:ops"))

	// Operators that were shut out stay so, whatever Helm restores.
	says("off")
	expect("off")
	w.helm("upgrade", manifest.Name, chart, "--values", ops)
	expect("off")
	w.g.Expect(says()).To(And(ContainSubstring("Operators of the hub: off"), ContainSubstring("read for group:ops"), ContainSubstring("`agent operators WHO`")))
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/proxy/api/v1/pods", http.NoBody)
	request.Header = http.Header{"Fairlead-User": {"alice"}, "Fairlead-Group": {"ops"}}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	w.g.Expect(answer.Code).To(Equal(http.StatusForbidden))
	w.g.Expect(answer.Body.String()).To(ContainSubstring("changed by something other than `agent operators`"))

	// So do operators with reduced rights.
	says("user:alice")
	expect("read for user:alice")
	w.helm("rollback", manifest.Name, "1", "--force-conflicts")
	expect("off")

	// Settings on which both agree are effective.
	says("group:ops")
	expect("read for group:ops")
	w.helm("upgrade", manifest.Name, chart, "--values", ops)
	expect("read for group:ops")
	w.away()
}
