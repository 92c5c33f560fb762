package install

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/test/cluster"
)

// Timeouts allow for a machine that does other work too.
const (
	waitTimeout = 2 * time.Minute
	poll        = 100 * time.Millisecond
)

func TestMain(m *testing.M) { cluster.Main(m) }

// run runs one of the built programs, and returns its output and whether it succeeded.
func run(t *testing.T, program string, args ...string) (out, diagnosis string, err error) {
	t.Helper()
	path, err := cluster.Executable(program)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// succeed runs a program that must succeed.
func succeed(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, diagnosis, err := run(t, program, args...)
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), diagnosis)
	return out
}

// file returns the path of a file below manifests/install.
func file(t *testing.T, names ...string) string {
	t.Helper()
	root, err := cluster.Root()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return filepath.Join(append([]string{root, "manifests", "install"}, names...)...)
}

// agentManifests writes the manifests printed by the agent.
func agentManifests(t *testing.T) string {
	t.Helper()
	text := succeed(t, "agent", "join", "hub.example.com:6443", "--token", "abcdef.0123456789abcdef", "--cluster-name", "edge-1",
		"--discovery-token-ca-cert-hash", "sha256:"+strings.Repeat("0", 64), "--print", "manifests")
	path := filepath.Join(t.TempDir(), "agent.yaml")
	NewWithT(t).Expect(os.WriteFile(path, []byte(text), 0o600)).To(Succeed())
	return path
}

func TestManifestsRunUnderRestrictedPodSecurity(t *testing.T) {
	g := NewWithT(t)
	member := cluster.Shared(t, cluster.Options{Profile: cluster.Member})
	scheme := runtime.NewScheme()
	g.Expect(corev1.AddToScheme(scheme)).To(Succeed())
	g.Expect(appsv1.AddToScheme(scheme)).To(Succeed())
	c, err := client.New(member.Config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	kubectl := func(args ...string) string {
		return succeed(t, "kubectl", append([]string{"--kubeconfig", member.Kubeconfig}, args...)...)
	}

	for _, test := range []struct {
		name, path, namespace, program string
		pods                           int
	}{
		{"a hub with an API of its own", file(t, "hub", "embedded.yaml"), "fairlead-system", "hub", 1},
		{"a hub against another API", file(t, "hub", "external.yaml"), "fairlead-system", "hub", 2},
		{"the pod that restores a hub", file(t, "hub", "restore.yaml"), "fairlead-system", "hub", 1},
		{"an agent", agentManifests(t), "karmada-system", "agent", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			// The namespace comes first, as in the files, and enforces restricted pod security whatever the files say.
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: test.namespace}}
			g.Expect(client.IgnoreAlreadyExists(c.Create(t.Context(), ns))).To(Succeed())
			kubectl("label", "--overwrite", "namespace", test.namespace, "pod-security.kubernetes.io/enforce=restricted", "pod-security.kubernetes.io/warn=restricted")
			expectRefusal(t, c, test.namespace)

			dryRun := []string{"--kubeconfig", member.Kubeconfig, "apply", "--server-side", "--validate=strict", "--dry-run=server", "-f", test.path}
			_, warnings, err := run(t, "kubectl", dryRun...)
			g.Expect(err).NotTo(HaveOccurred(), warnings)
			g.Expect(warnings).NotTo(ContainSubstring("Warning"))
			kubectl("apply", "--server-side", "--validate=strict", "-f", test.path)

			var pods corev1.PodList
			g.Eventually(func(g Gomega) {
				g.Expect(c.List(t.Context(), &pods, client.InNamespace(test.namespace))).To(Succeed())
				g.Expect(pods.Items).To(HaveLen(test.pods))
				for i := range pods.Items {
					g.Expect(pods.Items[i].Status.Phase).To(Equal(corev1.PodRunning))
				}
			}).WithTimeout(waitTimeout).WithPolling(poll).Should(Succeed())
			for _, container := range pods.Items[0].Spec.Containers {
				expectFlags(t, test.program, container.Args)
			}
			kubectl("delete", "--wait", "-f", test.path)
		})
	}
}

// expectRefusal expects the namespace to reject privileged pods; otherwise the test proves nothing.
func expectRefusal(t *testing.T, c client.Client, namespace string) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "privileged"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "c", Image: "i", SecurityContext: &corev1.SecurityContext{Privileged: new(true)},
		}}},
	}
	NewWithT(t).Eventually(func() bool {
		return apierrors.IsForbidden(c.Create(t.Context(), pod, client.DryRunAll))
	}).WithTimeout(waitTimeout).WithPolling(poll).Should(BeTrue())
}

// expectFlags expects a program to accept a command line. With --help it only parses it.
func expectFlags(t *testing.T, program string, args []string) {
	t.Helper()
	g := NewWithT(t)
	_, diagnosis, err := run(t, program, append(slices.Clip(args), "--help")...)
	g.Expect(err).NotTo(HaveOccurred(), "%s %q: %s", program, args, diagnosis)
	_, _, err = run(t, program, append(slices.Clip(args), "--no-such-flag", "--help")...)
	g.Expect(err).To(HaveOccurred(), "--help hides a flag that %s does not have", program)
}

func TestTheUnitOfTheHub(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	unit, err := os.ReadFile(file(t, "systemd", "fairlead-hub.service"))
	g.Expect(err).NotTo(HaveOccurred())
	command := regexp.MustCompile(`(?m)^ExecStart=/usr/local/bin/hub (.*)$`).FindSubmatch(unit)
	g.Expect(command).NotTo(BeNil())
	expectFlags(t, "hub", strings.Fields(string(command[1])))

	t.Run("systemd ignores nothing of it", func(t *testing.T) {
		t.Parallel()
		ignoresNothing(t, unit)
	})
}

// ignoresNothing verifies the hub's unit with systemd-analyze.
func ignoresNothing(t *testing.T, unit []byte) {
	t.Helper()
	g := NewWithT(t)
	analyze := cluster.Tool(t, "systemd-analyze")
	hub, err := cluster.Executable("hub")
	g.Expect(err).NotTo(HaveOccurred())
	path := filepath.Join(t.TempDir(), "fairlead-hub.service")
	g.Expect(os.WriteFile(path, bytes.ReplaceAll(unit, []byte("/usr/local/bin/hub"), []byte(hub)), 0o600)).To(Succeed())
	out, err := exec.CommandContext(t.Context(), analyze, "verify", path).CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(out))
	g.Expect(string(out)).NotTo(ContainSubstring("fairlead-hub.service:"), "nothing is ignored")
}
