package setup_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/setup"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// line is the line to the hub, which can be cut.
type line struct {
	mu    sync.Mutex
	down  bool
	conns []net.Conn
}

func (l *line) dial(ctx context.Context, network, address string) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return nil, errors.New("the line is cut")
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err == nil {
		l.conns = append(l.conns, conn)
	}
	return conn, err
}

func (l *line) set(down bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = down
	if down {
		for _, conn := range l.conns {
			_ = conn.Close() // that is the point
		}
		l.conns = nil
	}
}

// data returns the data of a ConfigMap of the member; nil if there is none.
func (w *world) data(name string) map[string]string {
	cm := &corev1.ConfigMap{}
	if err := w.client.Get(context.Background(), client.ObjectKey{Namespace: w.member, Name: name}, cm); err != nil {
		return nil
	}
	return cm.Data
}

func TestAnAgentThatStartsWithoutTheHubGoesOnWithTheJournal(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newJoined(t, "journaled")
	w.place(t)
	hub, state := &line{}, t.TempDir()
	options := func(o *setup.Options) { o.Hub.Dial, o.StateDir = hub.dial, state }
	stop := w.run(t, options)
	works := map[string]*workv1alpha1.Work{}
	for _, name := range []string{"kept", "changed", "deleted", "vanished"} {
		works[name] = w.work(t, name, w.configMap(name))
	}
	for name, work := range works {
		g.Eventually(func(g Gomega) {
			g.Expect(meta.IsStatusConditionTrue(w.read(g, work).Status.Conditions, workv1alpha1.WorkApplied)).To(BeTrue(), name)
		}).WithTimeout(waitTimeout).Should(Succeed())
	}
	g.Expect(filepath.Glob(filepath.Join(state, "journal", "journaled", "*.work"))).To(HaveLen(4))

	// The agent stops, the line is cut, and the member is changed meanwhile.
	stop()
	hub.set(true)
	spoil := func(name string) {
		cm := &corev1.ConfigMap{}
		g.Expect(w.client.Get(t.Context(), client.ObjectKey{Namespace: w.member, Name: name}, cm)).To(Succeed())
		before := cm.DeepCopy()
		cm.Data["a"] = "spoilt"
		g.Expect(w.client.Patch(t.Context(), cm, client.MergeFrom(before))).To(Succeed())
	}
	spoil("kept")
	g.Expect(w.client.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.member, Name: "changed"}})).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(state, "journal", "journaled", "torn.work"), []byte("fairlead-jour"), 0o600)).To(Succeed())

	stop = w.run(t, options)
	for _, name := range []string{"kept", "changed"} {
		g.Eventually(func() map[string]string { return w.data(name) }).WithTimeout(waitTimeout).Should(HaveKeyWithValue("a", "1"))
	}
	spoil("vanished") // the agent still reverts drift
	g.Eventually(func() map[string]string { return w.data("vanished") }).WithTimeout(waitTimeout).Should(HaveKeyWithValue("a", "1"))
	g.Expect(w.data("deleted")).NotTo(BeNil())

	// The agent is restarted again, and the hub stops answering meanwhile.
	stop()
	w.run(t, options)
	fresh := w.read(g, works["changed"])
	before := fresh.DeepCopy()
	fresh.Spec.Workload.Manifests[0].Raw = []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"changed","namespace":"` + w.member + `"},"data":{"a":"2"}}`)
	g.Expect(w.client.Patch(t.Context(), fresh, client.MergeFrom(before))).To(Succeed())
	w.end(t, works["deleted"])
	vanished := w.read(g, works["vanished"])
	before = vanished.DeepCopy()
	vanished.Finalizers = nil
	g.Expect(w.client.Patch(t.Context(), vanished, client.MergeFrom(before))).To(Succeed())
	g.Expect(w.client.Delete(t.Context(), vanished)).To(Succeed())
	g.Consistently(func() map[string]string { return w.data("deleted") }).WithTimeout(time.Second).ShouldNot(BeNil())

	hub.set(false)
	g.Eventually(func() map[string]string { return w.data("changed") }).WithTimeout(2 * waitTimeout).Should(HaveKeyWithValue("a", "2"))
	g.Eventually(func() bool {
		return apierrors.IsNotFound(w.client.Get(t.Context(), client.ObjectKeyFromObject(works["deleted"]), &workv1alpha1.Work{}))
	}).WithTimeout(waitTimeout).Should(BeTrue())
	g.Expect(w.data("deleted")).To(BeNil())
	g.Eventually(func(g Gomega) {
		applied := meta.FindStatusCondition(w.read(g, works["changed"]).Status.Conditions, workv1alpha1.WorkApplied)
		g.Expect(applied.ObservedGeneration).To(Equal(fresh.Generation))
		g.Expect(w.cluster(g).Status.UnclaimedObjects).To(Equal(int32(1)))
	}).WithTimeout(waitTimeout).Should(Succeed())
	g.Expect(w.data("vanished")).To(HaveKeyWithValue("a", "1"), "it stays")
	g.Eventually(func() ([]string, error) { return filepath.Glob(filepath.Join(state, "journal", "journaled", "*.work")) }).
		WithTimeout(waitTimeout).Should(HaveLen(3), "the absent one is remembered")
}
