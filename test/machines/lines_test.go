package machines

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/fleet"
	"fairlead.dev/test/process"
)

// TestALineOfAnotherReplica gives one of two hubs the line of an agent, asks the other for the member, and kills the
// first.
func TestALineOfAnotherReplica(t *testing.T) {
	t.Parallel()
	g, ctx := NewWithT(t), t.Context()
	w, api, serve := newReplicas(t, "lines")
	clientset, err := kubernetes.NewForConfig(api.Config)
	g.Expect(err).NotTo(HaveOccurred())
	rest, hub := clientset.RESTClient(), api.Client(t)

	// The API finds the hubs on this machine through addresses set by the test.
	insist(t, func() error {
		return hub.Create(ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "hub-lines"},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "127.0.0.1"},
		})
	})
	ports, ids := map[string]string{}, map[string]string{}
	for _, name := range []string{fleet.HubName, second} {
		serve(name, "--connect-service=kube-system/hub-lines:1", "--connect-bind-address=127.0.0.1:0", "--peer-bind-address=127.0.0.1:0")
		says := func(what string) (found string) {
			t.Helper()
			w.eventually(func(g Gomega) {
				match := regexp.MustCompile(what).FindStringSubmatch(w.log(name))
				g.Expect(match).To(HaveLen(2), "%s in the log of %s", what, name)
				found = match[1]
			})
			return found
		}
		ports[name] = says(`Listening for what the API server forwards for members.*127\.0\.0\.1:(\d+)`)
		ids[name] = says(`Other replicas of the hub find this one.*"replica": "([^"]+)"`)
	}
	callsGoTo := func(name string) {
		t.Helper()
		w.eventually(func(g Gomega) {
			patch := fmt.Sprintf(`{"spec":{"service":{"port":%s}}}`, ports[name])
			g.Expect(rest.Patch(types.MergePatchType).AbsPath("/apis/apiregistration.k8s.io/v1/apiservices/" + contract.ConnectVersion + "." + contract.ConnectGroup).
				Body([]byte(patch)).Do(ctx).Error()).To(Succeed())
			g.Expect(rest.Get().AbsPath(contract.ConnectAPIPath).Do(ctx).Error()).To(Succeed())
		})
	}
	callsGoTo(second)
	g.Expect(w.Up(ctx)).To(Succeed())

	w.eventually(func(g Gomega) { g.Expect(holder(ctx, g, clientset)).To(Equal(ids[second])) })
	callsGoTo(fleet.HubName)
	w.eventually(func(g Gomega) {
		g.Expect(holder(ctx, g, clientset)).To(Equal(ids[second]), "as the other tells")
		isAnswered(ctx, g, clientset)
	})
	var ready metav1.Condition
	w.eventually(func(g Gomega) {
		ready = isReady(ctx, g, hub)
		// The leader was told of the line, so the agent renews its lease rarely.
		line := lineOf(ctx, g, clientset)
		g.Expect(line.Status.Presence).To(Equal(contract.LineIsPresence))
	})

	w.clonedAgent(ctx, hub)
	g.Expect(holder(ctx, g, clientset)).To(Equal(ids[second]), "the first agent keeps its line")

	g.Expect(w.Kill(ctx, second)).To(Succeed())
	w.eventually(func(g Gomega) {
		g.Expect(holder(ctx, g, clientset)).To(Equal(ids[fleet.HubName]), "the agent has come to the one that is left")
		isAnswered(ctx, g, clientset)
	})
	w.eventually(func(g Gomega) {
		g.Expect(isReady(ctx, g, hub).LastTransitionTime).To(Equal(ready.LastTransitionTime), "the cluster was never Unknown")
	})
}

// clone is the name of an agent with a copied state directory.
const clone = "clone"

// clonedAgent starts an agent with another's identity, which finds that a hub has a line of that agent that it did not
// open. The condition of the cluster reports several agents. Then it stops.
func (w *world) clonedAgent(ctx context.Context, hub client.Reader) {
	w.t.Helper()
	g := NewWithT(w.t)
	state := filepath.Join(w.Dir, clone)
	g.Expect(os.Mkdir(state, 0o700)).To(Succeed())
	for _, file := range []string{"agent.json", "hub.kubeconfig"} {
		raw, err := os.ReadFile(filepath.Join(w.StateDir("edge-1"), file))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.WriteFile(filepath.Join(state, file), raw, 0o600)).To(Succeed())
	}
	p, err := process.Start(process.Spec{Executable: w.Program("agent"), Log: w.Log(clone), Args: []string{
		"run", "--kubeconfig", w.Kubeconfig("edge-1"), "--state-dir", state,
	}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(w.Adopt(clone, p)).To(Succeed())
	w.eventually(func(g Gomega) {
		g.Expect(w.log(clone)).To(ContainSubstring("another agent has the line of this cluster"))
	})
	w.eventually(func(g Gomega) {
		live := &clusterv1alpha1.Cluster{}
		g.Expect(hub.Get(ctx, client.ObjectKey{Name: "edge-1"}, live)).To(Succeed())
		g.Expect(meta.IsStatusConditionTrue(live.Status.Conditions, clusterv1alpha1.ClusterSeveralAgents)).To(BeTrue())
	})
	g.Expect(w.log(clone)).NotTo(ContainSubstring("Opened a line to the hub"))
	g.Expect(w.Kill(ctx, clone)).To(Succeed())
}

// aMemberIsReachedThroughEitherMachine asks each of two hubs that share an etcd, while the agent has its line with one.
// Each API uses the hub of its own machine.
func (w *world) aMemberIsReachedThroughEitherMachine() {
	t, g, ctx := w.t, NewWithT(w.t), w.t.Context()
	w.standsBy(fleet.HubName)
	listens, has := map[string]string{}, ""
	for _, name := range []string{fleet.HubName, second} {
		config, err := w.Config(name)
		g.Expect(err).NotTo(HaveOccurred())
		clientset, err := kubernetes.NewForConfig(config)
		g.Expect(err).NotTo(HaveOccurred())
		w.eventually(func(g Gomega) {
			isAnswered(ctx, g, clientset)
			has = holder(ctx, g, clientset)
			g.Expect(has).NotTo(BeEmpty())
			g.Expect(lineOf(ctx, g, clientset).Status.Presence).To(Equal(contract.LineIsPresence), "the one that works knows of it")
			address, err := os.ReadFile(filepath.Join(w.dataDir(name), "run", "connect.address"))
			g.Expect(err).NotTo(HaveOccurred())
			listens[name] = string(address)
		})
		t.Logf("the line is at %s, as %s says", has, name)
	}
	g.Expect(listens[second]).NotTo(Equal(listens[fleet.HubName]))
}

// newReplicas starts a Kubernetes API and a member, and returns a function that starts a hub against the API.
func newReplicas(t *testing.T, name string) (w *world, api *cluster.Cluster, serve func(hub string, more ...string)) {
	t.Helper()
	g := NewWithT(t)
	api = cluster.Start(t, cluster.Options{Name: name})
	dir, err := os.MkdirTemp("/tmp", "fairlead-"+name+"-") //nolint:usetesting // a short path
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(process.Remove(dir)).To(Succeed()) })
	binary, err := cluster.Executable("hub")
	g.Expect(err).NotTo(HaveOccurred())
	w = &world{t: t}
	w.Fleet, err = fleet.New(fleet.Options{Bin: filepath.Dir(binary), Dir: dir, Clusters: 1, APIOnly: true})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(process.Tail(w.Log(fleet.HubName), w.Log(second), w.Log(fleet.AgentName("edge-1")), w.Log(clone)))
		}
		ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
		defer cancel()
		g.Expect(w.Down(ctx)).To(Succeed())
	})
	kubeconfig, err := os.ReadFile(api.Kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	return w, api, func(hub string, more ...string) {
		t.Helper()
		g.Expect(os.WriteFile(w.Kubeconfig(hub), kubeconfig, 0o600)).To(Succeed())
		p, err := process.Start(process.Spec{Executable: binary, Log: w.Log(hub), Args: append([]string{
			"serve", "--kubeconfig", w.Kubeconfig(hub), "--metrics-bind-address", "0", "--dashboard-bind-address", "0",
		}, more...)})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(w.Adopt(hub, p)).To(Succeed())
	}
}

// shownLine is a Line of the API of lines.
type shownLine struct {
	Status struct {
		Up                bool
		Replica, Presence string
	}
}

func lineOf(ctx context.Context, g Gomega, c kubernetes.Interface) (l shownLine) {
	data, err := c.Discovery().RESTClient().Get().AbsPath(contract.ConnectAPIPath, contract.LinesResource, "edge-1").DoRaw(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(json.Unmarshal(data, &l)).To(Succeed())
	return l
}

// holder returns the replica that has the line.
func holder(ctx context.Context, g Gomega, c kubernetes.Interface) string {
	l := lineOf(ctx, g, c)
	g.Expect(l.Status.Up).To(BeTrue())
	return l.Status.Replica
}

// isAnswered checks that the agent answers. It admits no operators by default, and says so itself.
func isAnswered(ctx context.Context, g Gomega, c kubernetes.Interface) {
	err := c.Discovery().RESTClient().Get().AbsPath(contract.ClusterProxyPath("edge-1"), "version").Do(ctx).Error()
	g.Expect(err).To(MatchError(apierrors.IsForbidden, "IsForbidden"))
	g.Expect(err).To(MatchError(ContainSubstring("lets no operators in")))
}

// isReady returns the condition Ready of the cluster, which must be true.
func isReady(ctx context.Context, g Gomega, hub client.Reader) metav1.Condition {
	live := &clusterv1alpha1.Cluster{}
	g.Expect(hub.Get(ctx, client.ObjectKey{Name: "edge-1"}, live)).To(Succeed())
	ready := meta.FindStatusCondition(live.Status.Conditions, clusterv1alpha1.ClusterReady)
	g.Expect(ready).NotTo(BeNil())
	g.Expect(ready.Status).To(Equal(metav1.ConditionTrue), ready.Message)
	return *ready
}
