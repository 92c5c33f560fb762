package machines

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/fleet"
	"fairlead.dev/test/process"
)

// changes is the number of changes while machines are lost: a hub after a third of them, an etcd member after two
// thirds.
const changes = 99

// mostTakeover is the timeout for another hub to take over. The documented time is twenty seconds on an idle machine;
// this one runs other tests as well.
const mostTakeover = 2 * time.Minute

// label is on all objects of the test.
const label = "machines"

// TestAHubOnTwoMachines runs its steps one after the other, because a world takes longer to start than each of them.
func TestAHubOnTwoMachines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.strangersAreRefused()
	w.aHubAndAMemberOfTheEtcdAreKilled()
	w.aMemberIsReachedThroughEitherMachine()
	w.aMachineHangs()
	w.theEtcdLosesItsMajority()
	w.keysAndAuthorityAreExchanged()
	w.anAgentBehindAProxyGoesOnWithTheOther()
}

// strangersAreRefused starts hubs that must not form a hub with the first.
func (w *world) strangersAreRefused() {
	w.t.Helper()
	g := NewWithT(w.t)
	w.refused("hub ca export FILE")
	w.refused("is not of the authority in --etcd-cafile", "--etcd-cafile="+w.etcd.file("other-ca.crt"))
	w.refused("it refuses the certificate of --etcd-certfile", "--etcd-certfile="+w.etcd.file("other.crt"), "--etcd-keyfile="+w.etcd.file("other.key"))

	// The identity of another fleet's hub.
	made, err := process.Start(process.Spec{Executable: w.Program("controlplane"), Log: w.Log("other"), Args: []string{
		"--profile", "hub", "--data-dir", w.dataDir("other"), "--unsafe-no-fsync",
	}})
	g.Expect(err).NotTo(HaveOccurred())
	keys := filepath.Join(w.dataDir("other"), "encryption", "keys.json")
	w.eventually(func(g Gomega) {
		g.Expect(keys).To(BeAnExistingFile())
		g.Expect(filepath.Join(w.dataDir("other"), "pki", "sa.key")).To(BeAnExistingFile())
	})
	made.Kill()
	file := filepath.Join(w.t.TempDir(), "authority")
	w.hub("other", "ca", "export", file)
	w.hub(second, "ca", "import", file)
	w.refused("its key of service accounts is another")
	w.share("--replace")
}

// aHubAndAMemberOfTheEtcdAreKilled makes changes while a hub and an etcd member are killed.
func (w *world) aHubAndAMemberOfTheEtcdAreKilled() {
	t, g, ctx := w.t, NewWithT(w.t), w.t.Context()
	w.startSecond()
	w.eventually(func(g Gomega) {
		_, err := w.works(ctx, second)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(w.second.Ended()).To(BeFalse(), process.Tail(w.Log(second)))
	})
	worked, err := w.works(ctx, second)
	g.Expect(err).NotTo(HaveOccurred())

	config, err := w.Config(second)
	g.Expect(err).NotTo(HaveOccurred())

	// The agent joined when there was one hub, and learns the address of the other, here because it is restarted.
	w.eventually(func(g Gomega) {
		flags, err := w.CreateToken(ctx, "edge-9")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(flags[0]).To(HaveSuffix(","+strings.TrimPrefix(config.Host, "https://")), "whoever joins is given both addresses")
	})
	clientset, err := kubernetes.NewForConfig(config)
	g.Expect(err).NotTo(HaveOccurred())
	metrics, err := clientset.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(metrics)).To(ContainSubstring("aggregator_unavailable_apiservice{"))
	g.Expect(string(metrics)).NotTo(ContainSubstring(fmt.Sprintf("aggregator_unavailable_apiservice_total{name=%q", contract.ConnectVersion+"."+contract.ConnectGroup)),
		"while its hub started, its API left the lines of the first as they were")
	g.Expect(w.Stop(ctx, fleet.AgentName("edge-1"))).To(Succeed())
	g.Expect(w.StartAgent("edge-1")).To(Succeed())
	w.eventually(func(g Gomega) {
		data, err := os.ReadFile(filepath.Join(w.StateDir("edge-1"), "agent.json"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(data)).To(ContainSubstring(config.Host))
	})

	hub, err := w.Client(second)
	g.Expect(err).NotTo(HaveOccurred())
	insist(t, func() error { return hub.Create(ctx, everywhere()) })
	first := map[string]types.UID{}
	var took <-chan time.Duration
	for i := range changes {
		insist(t, func() error { return hub.Create(ctx, configMap(i)) })
		switch i {
		case changes / 3:
			w.eventually(func(g Gomega) { g.Expect(w.inMember(ctx, g)).NotTo(BeEmpty()) })
			first = w.inMember(ctx, g)
			g.Expect(w.Kill(ctx, fleet.HubName)).To(Succeed())
			took = w.takeover(ctx, worked, time.Now())
		case 2 * changes / 3:
			w.etcd.run[0].Kill()
		}
	}
	var takeover time.Duration
	g.Eventually(took).WithTimeout(mostTakeover).Should(Receive(&takeover))
	t.Logf("another hub works %.1f s after the first was killed", takeover.Seconds())
	began := time.Now()
	w.eventually(func(g Gomega) { g.Expect(w.inMember(ctx, g)).To(HaveLen(changes)) })
	t.Logf("all changes are in the member %.1f s after the last", time.Since(began).Seconds())
	last := w.inMember(ctx, g)
	for name, uid := range first {
		g.Expect(last).To(HaveKeyWithValue(name, uid), "nothing was made a second time")
	}
	g.Expect(len(first)).To(BeNumerically("<", changes), "some were made after the hub was killed")
	w.eventually(func(g Gomega) {
		works := &workv1alpha1.WorkList{}
		g.Expect(hub.List(ctx, works, client.InNamespace("karmada-es-edge-1"))).To(Succeed())
		g.Expect(works.Items).To(HaveLen(changes), "one for each, none of them twice")
		for i := range works.Items {
			g.Expect(works.Items[i].Generation).To(Equal(int64(1)), "written once")
		}
	})

	// An etcd member is down, the first one asked for a snapshot.
	w.isRestoredAlone(ctx, second, changes)

	// The machine comes back, and stands by.
	g.Expect(w.StartHub(ctx)).To(Succeed())
	w.etcd.start(t, 0)
	w.eventually(func(g Gomega) { // the etcd member that its API uses may be just restarting
		now, err := w.works(ctx, fleet.HubName)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(now).NotTo(Equal(worked))
	})
	insist(t, func() error { return client.IgnoreNotFound(hub.Delete(ctx, configMap(0))) })
	w.eventually(func(g Gomega) { g.Expect(w.inMember(ctx, g)).To(HaveLen(changes - 1)) })
	w.sent = changes
}

// send makes one more change at a hub, and waits until the member has it, together with all earlier ones, unchanged.
func (w *world) send(hub string) {
	w.t.Helper()
	ctx := w.t.Context()
	before := w.inMember(ctx, NewWithT(w.t))
	c, err := w.Client(hub)
	NewWithT(w.t).Expect(err).NotTo(HaveOccurred())
	change := configMap(w.sent)
	w.sent++
	insist(w.t, func() error { return c.Create(ctx, change.DeepCopy()) })
	w.eventually(func(g Gomega) {
		now := w.inMember(ctx, g)
		g.Expect(now).To(HaveKey(change.Name))
		for name, uid := range before {
			g.Expect(now).To(HaveKeyWithValue(name, uid), "nothing was lost, nor made a second time")
		}
	})
}

// takeover measures the time until another hub leads than before.
func (w *world) takeover(ctx context.Context, before string, since time.Time) <-chan time.Duration {
	out := make(chan time.Duration, 1)
	go func() {
		_ = wait.PollUntilContextTimeout(ctx, poll, mostTakeover, true, func(ctx context.Context) (bool, error) {
			now, err := w.works(ctx, second)
			if err == nil && now != "" && now != before {
				out <- time.Since(since)
				return true, nil
			}
			return false, nil
		})
	}()
	return out
}

// insist retries what must succeed in the end, whatever is lost meanwhile. It accepts an operation whose response was
// lost.
func insist(t *testing.T, do func() error) {
	t.Helper()
	NewWithT(t).Eventually(func() error {
		err := do()
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	}).WithTimeout(waitTimeout).WithPolling(poll).Should(Succeed())
}

// inMember returns the UIDs of the objects that have arrived, by name.
func (w *world) inMember(ctx context.Context, g Gomega) map[string]types.UID {
	c, err := w.Client("edge-1")
	g.Expect(err).NotTo(HaveOccurred())
	list := &corev1.ConfigMapList{}
	g.Expect(c.List(ctx, list, client.InNamespace(metav1.NamespaceDefault), client.MatchingLabels{"test": label})).To(Succeed())
	out := map[string]types.UID{}
	for i := range list.Items {
		out[list.Items[i].Name] = list.Items[i].UID
	}
	return out
}

func configMap(i int) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: fmt.Sprintf("change-%d", i), Labels: map[string]string{"test": label}},
		Data:       map[string]string{"number": fmt.Sprint(i)},
	}
}

func everywhere() *policyv1alpha1.PropagationPolicy {
	return &policyv1alpha1.PropagationPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: label},
		Spec: policyv1alpha1.PropagationSpec{
			ResourceSelectors: []policyv1alpha1.ResourceSelector{{
				APIVersion: "v1", Kind: "ConfigMap", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"test": label}},
			}},
		},
	}
}
