package machines

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/kubernetes"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/fleet"
	"fairlead.dev/test/process"
)

// TestAnotherReplicaGoesOnWhereOneWasKilled runs two hubs against one Kubernetes API, like the Deployment in
// manifests/install/hub/external.yaml, and kills the leader.
func TestAnotherReplicaGoesOnWhereOneWasKilled(t *testing.T) {
	t.Parallel()
	g, ctx := NewWithT(t), t.Context()
	api := cluster.Start(t, cluster.Options{Name: "replicas"})
	dir, err := os.MkdirTemp("/tmp", "fairlead-replicas-") //nolint:usetesting // a short path
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(process.Remove(dir)).To(Succeed()) })
	binary, err := cluster.Executable("hub")
	g.Expect(err).NotTo(HaveOccurred())
	w := &world{t: t}
	w.Fleet, err = fleet.New(fleet.Options{Bin: filepath.Dir(binary), Dir: dir, Clusters: 1, APIOnly: true})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(process.Tail(w.Log(fleet.HubName), w.Log(second), w.Log(fleet.AgentName("edge-1"))))
		}
		ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
		defer cancel()
		g.Expect(w.Down(ctx)).To(Succeed())
	})
	kubeconfig, err := os.ReadFile(api.Kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	serve := func(name string, flags ...string) {
		t.Helper()
		g.Expect(os.WriteFile(w.Kubeconfig(name), kubeconfig, 0o600)).To(Succeed())
		p, err := process.Start(process.Spec{Executable: binary, Log: w.Log(name), Args: append([]string{
			"serve", "--kubeconfig", w.Kubeconfig(name), "--metrics-bind-address", "0", "--dashboard-bind-address", "0",
			"--peer-bind-address", "127.0.0.1:0",
		}, flags...)})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(w.Adopt(name, p)).To(Succeed())
	}
	serve(fleet.HubName, forwarded(t, api)...)
	g.Expect(w.Up(ctx)).To(Succeed())
	w.reaches(t, api, "edge-1")
	worked, err := w.works(ctx, fleet.HubName)
	g.Expect(err).NotTo(HaveOccurred())

	hub := api.Client(t)
	insist(t, func() error { return hub.Create(ctx, everywhere()) })
	w.send(fleet.HubName)
	alone := w.followsAlone(ctx, api)
	serve(second)
	// The standby waits, and already watches what it will need as the leader.
	w.eventually(func(g Gomega) {
		g.Expect(w.log(second)).To(ContainSubstring("ttempting to acquire leader lease"))
		g.Expect(follows(ctx, g, api)["configmaps"]).To(BeNumerically(">", alone["configmaps"]), "of the kinds that policies name, too")
	})

	var took <-chan time.Duration
	var waits map[string]int
	for ; w.sent < changes; w.sent++ {
		change := configMap(w.sent)
		insist(t, func() error { return hub.Create(ctx, change) })
		if w.sent == changes/3 {
			g.Expect(w.Kill(ctx, fleet.HubName)).To(Succeed())
			took = w.takeover(ctx, worked, time.Now())
			w.eventually(func(g Gomega) {
				waits = follows(ctx, g, api)
				g.Expect(watches(waits)).To(Equal(watches(alone)), "those of the one that was killed have ended")
			})
		}
	}
	var takeover time.Duration
	g.Eventually(took).WithTimeout(mostTakeover).Should(Receive(&takeover))
	t.Logf("another replica works %.1f s after the first was killed", takeover.Seconds())
	w.eventually(func(g Gomega) { g.Expect(w.inMember(ctx, g)).To(HaveLen(changes)) })
	w.eventually(func(g Gomega) {
		g.Expect(follows(ctx, g, api)).To(Equal(waits), "it knew all that it works on before its turn came")
	})
	works := &workv1alpha1.WorkList{}
	g.Expect(hub.List(ctx, works, client.InNamespace("karmada-es-edge-1"))).To(Succeed())
	g.Expect(works.Items).To(HaveLen(changes), "one for each, none of them twice")
	for i := range works.Items {
		g.Expect(works.Items[i].Generation).To(Equal(int64(1)), "written once")
	}
}

// followsAlone returns what follows returns while one hub runs. The garbage collector of that API watches all kinds as
// well, once it discovers them, but does not begin with all at the same moment.
func (w *world) followsAlone(ctx context.Context, api *cluster.Cluster) map[string]int {
	w.t.Helper()
	var alone map[string]int
	var since time.Time
	w.eventually(func(g Gomega) {
		now := follows(ctx, g, api)
		g.Expect(now).To(And(HaveKeyWithValue("workloadrebalancers", 2), HaveKeyWithValue("works", 3), HaveKey("configmaps")), "hub, collector, and of Works the agent")
		if !maps.Equal(watches(now), watches(alone)) {
			alone, since = now, time.Now()
		}
		g.Expect(time.Since(since)).To(BeNumerically(">=", 3*time.Second), "watches still begin")
	})
	return alone
}

// watches removes the numbers of lists.
func watches(follows map[string]int) map[string]int {
	out := maps.Clone(follows)
	maps.DeleteFunc(out, func(name string, _ int) bool { return strings.HasSuffix(name, listed) })
	return out
}

// listed is the suffix of a kind for the number of lists.
const listed = " listed"

// follows returns the number of watches of each kind that hubs use, and, with the suffix, the number of other full
// lists: a watch starts with all existing objects.
func follows(ctx context.Context, g Gomega, api *cluster.Cluster) map[string]int {
	clientset, err := kubernetes.NewForConfig(api.Config)
	g.Expect(err).NotTo(HaveOccurred())
	data, err := clientset.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	out := map[string]int{}
	for _, line := range regexp.MustCompile(`(?m)^apiserver_(longrunning_requests|request_total)\{.*$`).FindAllString(string(data), -1) {
		label := func(name string) string {
			return regexp.MustCompile(`\b` + name + `="([^"]*)"`).FindStringSubmatch(line)[1]
		}
		if group, resource := label("group"), label("resource"); !strings.HasSuffix(group, ".karmada.io") && (group != "" || resource != "configmaps") {
			continue
		}
		name := label("resource")
		switch isTotal, verb := strings.HasPrefix(line, "apiserver_request_total"), label("verb"); {
		case isTotal && verb == "LIST":
			name += listed
		case isTotal || verb != "WATCH":
			continue
		}
		n, err := strconv.Atoi(line[strings.LastIndexByte(line, ' ')+1:])
		g.Expect(err).NotTo(HaveOccurred())
		out[name] += n
	}
	return out
}
