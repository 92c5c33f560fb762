package chaos

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/fleet"
)

func TestTheAgentIsKilledAgainAndAgain(t *testing.T) {
	f, w := begin(t)
	kills, stop := again(t, f, fleet.AgentName(member), time.Second)
	for range 10 {
		before := kills()
		w.act(t, 20)
		NewWithT(t).Eventually(kills).WithTimeout(waitTimeout).WithPolling(poll).Should(BeNumerically(">", before))
	}
	stop()
	t.Logf("the agent was killed %d times during 200 changes", kills())
	w.isWell(t)
	w.act(t, 10)
	w.isWell(t)
}

// TestTheHubIsAway starts the agent while there is no hub: it works from its journal, and reverts changes made in the
// member.
func TestTheHubIsAway(t *testing.T) {
	f, w := begin(t)
	g := NewWithT(t)
	w.act(t, 60)
	w.create(t)
	w.isWell(t)
	g.Expect(f.Kill(t.Context(), fleet.HubName)).To(Succeed())
	back := time.Now().Add(away(t))
	g.Expect(f.Kill(t.Context(), fleet.AgentName(member))).To(Succeed())

	spoilt := w.spoil(t)
	g.Expect(f.StartAgent(member)).To(Succeed())
	eventually(t, func(g Gomega) {
		g.Expect(w.look(t, g)[spoilt].version).To(Equal(w.model[spoilt]), "put back without the hub")
	})
	g.Consistently(func(g Gomega) {
		g.Expect(w.look(t, g)[spoilt].version).To(Equal(w.model[spoilt]), "it stays so")
	}).WithTimeout(max(time.Until(back), poll)).WithPolling(poll).Should(Succeed())
	g.Expect(f.Up(t.Context())).To(Succeed())
	w.isWell(t)
	w.act(t, 40)
	w.isWell(t)
}

// spoil changes a ConfigMap in the member, as a user there may, and returns its key.
func (w *world) spoil(t *testing.T) (key string) {
	t.Helper()
	for _, key := range w.keys() {
		if !strings.HasPrefix(key, "configmap/") {
			continue
		}
		change := client.RawPatch(types.MergePatchType, []byte(`{"data": {"version": "999"}}`))
		NewWithT(t).Expect(w.member.Patch(t.Context(), w.object(key, 0), change)).To(Succeed())
		return key
	}
	t.Fatal("there is no ConfigMap")
	return ""
}

func TestTheMemberRestarts(t *testing.T) {
	f, w := begin(t)
	g := NewWithT(t)
	w.act(t, 30)
	g.Expect(f.Kill(t.Context(), member)).To(Succeed())
	w.act(t, 30)
	g.Expect(f.Up(t.Context())).To(Succeed())
	w.act(t, 30)
	w.isWell(t)
}

// TestTheMemberIsRestoredFromAnOlderSnapshot restores the member from a snapshot: the agent applies everything again,
// but leaves objects alone that come back without a Work.
func TestTheMemberIsRestoredFromAnOlderSnapshot(t *testing.T) {
	f, w := begin(t)
	g := NewWithT(t)
	w.act(t, 60)
	w.isWell(t)
	before := maps.Clone(w.model)
	restore := snapshot(t, f, member)
	w.act(t, 60)
	w.isWell(t)
	restore()
	var back []string
	for key := range before {
		if _, ok := w.model[key]; !ok {
			back = append(back, key)
		}
	}
	for key := range w.model {
		if _, ok := before[key]; !ok {
			delete(w.uids, key) // lost and recreated
		}
	}
	g.Expect(f.Up(t.Context())).To(Succeed())
	w.isWell(t, back...)
}

// TestTheMemberIsRestoredThoughNothingOfOursChanged restores the member to before changes that the agent's watches have
// seen, of objects that the agent did not apply: later changes of applied objects are reverted all the same, even
// before the member's resourceVersion has caught up.
func TestTheMemberIsRestoredThoughNothingOfOursChanged(t *testing.T) {
	f, w := begin(t)
	g := NewWithT(t)
	for range 9 { // no Deployment, because its status would change
		w.create(t)
	}
	w.isWell(t)
	restore := snapshot(t, f, member)
	w.isWell(t)
	var works workv1alpha1.WorkList
	g.Expect(w.hub.List(t.Context(), &works)).To(Succeed())
	g.Expect(works.Items).NotTo(BeEmpty())
	const others = 300
	for i := range others {
		other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: fmt.Sprintf("other-%d", i), Labels: map[string]string{contract.ManagedLabel: contract.LabelTrue},
			Annotations: map[string]string{contract.WorkNamespaceAnnotation: works.Items[0].Namespace, contract.WorkNameAnnotation: "nobody"},
		}}
		g.Expect(w.member.Create(t.Context(), other)).To(Succeed())
	}
	unclaimed := func(g Gomega) int32 {
		cluster := &clusterv1alpha1.Cluster{}
		g.Expect(w.hub.Get(t.Context(), client.ObjectKey{Name: member}, cluster)).To(Succeed())
		return cluster.Status.UnclaimedObjects
	}
	eventually(t, func(g Gomega) { g.Expect(unclaimed(g)).To(BeNumerically(">=", others), "the agent has seen them") })
	restore()
	g.Expect(f.Up(t.Context())).To(Succeed())
	w.spoil(t)
	w.isWell(t)
}

// TestTheMemberIsRestoredToBeforeTheLastWorkOfAKindEnded brings an object back whose kind is not in any Work any more.
func TestTheMemberIsRestoredToBeforeTheLastWorkOfAKindEnded(t *testing.T) {
	f, w := begin(t)
	g := NewWithT(t)
	policy := &policyv1alpha1.PropagationPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "secrets"}}
	policy.Spec.ResourceSelectors = []policyv1alpha1.ResourceSelector{{APIVersion: "v1", Kind: "Secret"}}
	policy.Spec.Placement.ClusterAffinity = &policyv1alpha1.ClusterAffinity{ClusterNames: []string{member}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "key"}}
	g.Expect(w.hub.Create(t.Context(), policy)).To(Succeed())
	g.Expect(w.hub.Create(t.Context(), secret)).To(Succeed())
	ended := client.ObjectKey{Namespace: "karmada-es-" + member, Name: contract.WorkName("Secret", w.namespace, secret.Name)}
	inMember := func(g Gomega) error {
		err := w.member.Get(t.Context(), client.ObjectKeyFromObject(secret), &corev1.Secret{})
		g.Expect(client.IgnoreNotFound(err)).To(Succeed())
		return err
	}
	eventually(t, func(g Gomega) {
		g.Expect(inMember(g)).To(Succeed())
		g.Expect(w.hub.Get(t.Context(), ended, &workv1alpha1.Work{})).To(Succeed())
	})
	restore := snapshot(t, f, member)
	g.Expect(w.hub.Delete(t.Context(), secret)).To(Succeed())
	eventually(t, func(g Gomega) {
		g.Expect(apierrors.IsNotFound(w.hub.Get(t.Context(), ended, &workv1alpha1.Work{}))).To(BeTrue())
		g.Expect(inMember(g)).NotTo(Succeed())
	})
	w.goesOn(t)
	restore()
	g.Expect(f.Up(t.Context())).To(Succeed())
	eventually(t, func(g Gomega) {
		var events corev1.EventList
		g.Expect(w.hub.List(t.Context(), &events, client.InNamespace("karmada-es-"+member))).To(Succeed())
		g.Expect(events.Items).To(ContainElement(And(
			HaveField("Reason", "Unclaimed"), HaveField("Message", ContainSubstring("Secret "+w.namespace+"/key")))))
		g.Expect(inMember(g)).To(Succeed(), "it stays as it is")
	})
}

// goesOn makes many changes in the member, and waits until the agent has seen the last one: otherwise a restored member
// would catch up within a moment.
func (w *world) goesOn(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	for i := range 300 {
		g.Expect(w.member.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: fmt.Sprintf("goes-on-%d", i)}})).To(Succeed())
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	unmarked := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"labels": {"`+contract.ManagedLabel+`": null}}}`))
	g.Expect(w.member.Patch(t.Context(), namespace, unmarked)).To(Succeed())
	eventually(t, func(g Gomega) {
		g.Expect(w.member.Get(t.Context(), client.ObjectKeyFromObject(namespace), namespace)).To(Succeed())
		g.Expect(namespace.Labels).To(HaveKey(contract.ManagedLabel))
	})
}

// snapshot copies the data of a process that stands still meanwhile, as the snapshot of a virtual machine does. What it returns stops the
// process and puts them back.
func snapshot(t *testing.T, f *fleet.Fleet, name string) (restore func()) {
	t.Helper()
	g := NewWithT(t)
	data, copied := filepath.Join(f.Dir, name), filepath.Join(t.TempDir(), "snapshot")
	g.Expect(f.Signal(name, syscall.SIGSTOP)).To(Succeed())
	copying := copyFiles(copied, data)
	g.Expect(f.Signal(name, syscall.SIGCONT)).To(Succeed())
	g.Expect(copying).To(Succeed())
	return func() {
		g.Expect(f.Stop(t.Context(), name)).To(Succeed())
		g.Expect(os.RemoveAll(data)).To(Succeed())
		g.Expect(copyFiles(data, copied)).To(Succeed())
	}
}

// copyFiles copies a directory without the sockets of what runs in it.
func copyFiles(to, from string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(to, name), info.Mode().Perm())
		case entry.Type() == fs.ModeSocket:
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), content, info.Mode().Perm())
	})
}

// TestTheClockIsOff has an agent whose clock is wrong by ten minutes.
func TestTheClockIsOff(t *testing.T) {
	f, w := begin(t)
	for _, off := range []time.Duration{10 * time.Minute, -10 * time.Minute} {
		NewWithT(t).Expect(f.Kill(t.Context(), fleet.AgentName(member))).To(Succeed())
		stop := runAgent(t, f, skewed{off: off})
		w.act(t, 30)
		w.isWell(t)
		eventually(t, func(g Gomega) { isReady(t, g, w.hub) })
		stop()
	}
}
