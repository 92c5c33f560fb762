package chaos

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
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

// TestTheHubIsAway has the agent start while there is no hub: it goes by its journal, and
// what people do in the member is put back.
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

// spoil changes a ConfigMap in the member, as somebody there may, and says which.
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

// TestTheMemberIsRestoredFromAnOlderSnapshot has the member forget what was done since: it
// is done again, but for what comes back without a Work: that is left alone.
func TestTheMemberIsRestoredFromAnOlderSnapshot(t *testing.T) {
	f, w := begin(t)
	g := NewWithT(t)
	w.act(t, 60)
	w.isWell(t)
	before := maps.Clone(w.model)
	restore := snapshot(t, f, member)
	g.Expect(f.Up(t.Context())).To(Succeed())
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
			delete(w.uids, key) // lost, and made again
		}
	}
	g.Expect(f.Up(t.Context())).To(Succeed())
	w.isWell(t, back...)
}

// TestTheMemberIsRestoredThoughNothingOfOursChanged has the member go back to before changes that the agent's watches have seen, and which
// are of no object that it applied: what is done there afterwards is put back all the same, and before the member has come as far again.
func TestTheMemberIsRestoredThoughNothingOfOursChanged(t *testing.T) {
	f, w := begin(t)
	g := NewWithT(t)
	for range 9 { // no Deployment, whose status would change
		w.create(t)
	}
	w.isWell(t)
	restore := snapshot(t, f, member)
	g.Expect(f.Up(t.Context())).To(Succeed())
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

// snapshot stops a process and copies its data. What it returns stops it again and puts
// them back.
func snapshot(t *testing.T, f *fleet.Fleet, name string) (restore func()) {
	t.Helper()
	g := NewWithT(t)
	data, copied := filepath.Join(f.Dir, name), filepath.Join(t.TempDir(), "snapshot")
	g.Expect(f.Stop(t.Context(), name)).To(Succeed())
	g.Expect(os.CopyFS(copied, os.DirFS(data))).To(Succeed())
	return func() {
		g.Expect(f.Stop(t.Context(), name)).To(Succeed())
		g.Expect(os.RemoveAll(data)).To(Succeed())
		g.Expect(os.CopyFS(data, os.DirFS(copied))).To(Succeed())
	}
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
