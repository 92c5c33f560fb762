package connect

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"fairlead.dev/common/contract"
	"fairlead.dev/test/fleet"
	"fairlead.dev/test/fleet/fleettest"
)

// The members: the owner of the first admits alice and the group ops, the owner of the second nobody.
const (
	open   = "edge-1"
	closed = "edge-2"
)

const (
	waitTimeout = 2 * time.Minute
	poll        = 100 * time.Millisecond
)

// shared has agents without a line renew their leases every four seconds instead of ten, because tests wait for that.
var shared = fleettest.Of(fleet.Options{
	Clusters: 2, Nodes: 1, UnsafeExec: true,
	HubArgs: []string{"--tls-san", hubName}, AgentArgs: []string{"--cluster-lease-renew-interval-fraction=0.1"},
})

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// setUp runs once for all tests.
var setUp sync.Once

// world is the fleet as used by one test.
type world struct{ *fleettest.World }

// up returns the fleet, with a pod and the RBAC rules in its members.
func up(t *testing.T) *world {
	t.Helper()
	w := &world{shared.World(t, fleet.HubName, fleet.AgentName(open), fleet.AgentName(closed))}
	setUp.Do(func() {
		for _, member := range w.Members() {
			w.applyTo(member, fmt.Sprintf(inMember, member))
			w.MustKubectl(member, "wait", "--for=condition=Ready", "pod/web", "--timeout=120s")
		}
		w.applyTo(fleet.HubName, atHub)
		_, err := w.Run(t.Context(), "agent", "operators", "group:ops,user:alice,user:bob,user:reader,user:carol", "--may", "exec,port-forward,write", "--kubeconfig", w.Kubeconfig(open))
		w.G.Expect(err).NotTo(HaveOccurred())
	})
	w.awaitLine()
	return w
}

// inMember are the objects in each member: a pod, an object that tells the members apart, and RBAC rules that allow
// operators everything that the owner admits.
const inMember = `
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default}
spec:
  containers:
  - {name: web, image: web, ports: [{containerPort: 80}, {containerPort: 7, name: echo}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: here, namespace: default}
data: {here: "the member %s"}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: operators}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: "fairlead:alice"}
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: "fairlead:bob"}
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: "fairlead:reader"}
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: "fairlead:ops"}
`

// atHub are the hub's RBAC rules on who may reach which members.
const atHub = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reach-edge-1}
rules:
- {apiGroups: [connect.fairlead.dev], resources: [clusters/proxy], resourceNames: [edge-1], verbs: [get, create, update, patch, delete]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: read-edge-1}
rules:
- {apiGroups: [connect.fairlead.dev], resources: [clusters/proxy], resourceNames: [edge-1], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reach-edge-1}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reach-edge-1}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: bob}
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: mallory}
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: carol}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: read-edge-1}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: read-edge-1}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: reader}
`

func (w *world) applyTo(name, yaml string) {
	w.T.Helper()
	file := filepath.Join(w.T.TempDir(), "objects.yaml")
	w.G.Expect(os.WriteFile(file, []byte(yaml), 0o600)).To(Succeed())
	w.MustKubectl(name, "apply", "-f", file)
}

// awaitLine waits until alice can read from the member that admits operators.
func (w *world) awaitLine() {
	w.T.Helper()
	config := w.config("alice")
	caller, err := rest.HTTPClientFor(config)
	w.G.Expect(err).NotTo(HaveOccurred())
	w.G.Eventually(func(g Gomega) {
		response, err := caller.Get(config.Host + "/api/v1/namespaces/default/configmaps/here")
		g.Expect(err).NotTo(HaveOccurred())
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(body)).To(ContainSubstring("the member " + open))
	}).WithTimeout(waitTimeout).WithPolling(poll).Should(Succeed())
}

// config returns a user's configuration for the member that admits operators. It impersonates the user as the hub's
// administrator, which makes no difference to the API server.
func (w *world) config(user string) *rest.Config {
	w.T.Helper()
	config, err := w.Config(fleet.HubName)
	w.G.Expect(err).NotTo(HaveOccurred())
	config.Host += contract.ClusterProxyPath(open)
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	return config
}

// kubectl returns a kubectl command of a hub's user, for the API of a member.
func (w *world) kubectl(member, user string, args ...string) *exec.Cmd {
	w.T.Helper()
	config, err := clientcmd.LoadFromFile(w.Kubeconfig(fleet.HubName))
	w.G.Expect(err).NotTo(HaveOccurred())
	for _, cluster := range config.Clusters {
		cluster.Server += contract.ClusterProxyPath(member)
	}
	for _, info := range config.AuthInfos {
		info.Impersonate = user
	}
	file := filepath.Join(w.Dir, "operators", user+"-"+member)
	if _, err := os.Stat(file); err != nil {
		w.G.Expect(clientcmd.WriteToFile(*config, file)).To(Succeed())
	}
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	w.T.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, w.Program("kubectl"), append([]string{"--kubeconfig", file}, args...)...)
	cmd.Dir = w.T.TempDir()
	cmd.WaitDelay = time.Second
	return cmd
}

// does runs kubectl as a user to its end, and returns its output.
func (w *world) does(member, user string, args ...string) (string, error) {
	w.T.Helper()
	out, err := w.kubectl(member, user, args...).CombinedOutput()
	return string(out), err
}

// buffer collects a program's output.
type buffer struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.out.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.out.String()
}

// stream is a program that runs until it is stopped.
type stream struct {
	out   buffer
	in    io.WriteCloser
	ended chan error

	process *os.Process
}

// start starts a program, and kills it when the test ends.
func (w *world) start(cmd *exec.Cmd) *stream {
	w.T.Helper()
	s := &stream{ended: make(chan error, 1)}
	cmd.Stdout, cmd.Stderr = &s.out, &s.out
	var err error
	s.in, err = cmd.StdinPipe()
	w.G.Expect(err).NotTo(HaveOccurred())
	w.G.Expect(cmd.Start()).To(Succeed())
	s.process = cmd.Process
	done := make(chan struct{})
	go func() {
		s.ended <- cmd.Wait()
		close(done)
	}()
	w.T.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
	})
	return s
}

// awaitOutput waits until a program has printed a text.
func (w *world) awaitOutput(s *stream, text string) {
	w.T.Helper()
	w.G.Eventually(s.out.String).WithTimeout(waitTimeout).WithPolling(poll).Should(ContainSubstring(text))
}

// awaitEnd waits until a program exits by itself.
func (w *world) awaitEnd(s *stream) error {
	w.T.Helper()
	var err error
	w.G.Eventually(s.ended).WithTimeout(waitTimeout).Should(Receive(&err), func() string { return strings.TrimSpace(s.out.String()) })
	return err
}
