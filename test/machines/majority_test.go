package machines

import (
	"strings"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/test/fleet"
)

// theEtcdLosesItsMajority kills two of the three etcd members, and restarts them later.
func (w *world) theEtcdLosesItsMajority() {
	t, g, ctx := w.t, NewWithT(w.t), w.t.Context()
	said := func() int { return strings.Count(w.log(fleet.HubName)+w.log(second), "etcdctl endpoint health") }
	before := said()
	for _, lost := range []int{1, 2} {
		w.etcd.run[lost].Kill()
	}
	w.eventually(func(g Gomega) { g.Expect(said()).To(BeNumerically(">", before), "the hub says what to look at") })

	// The leader exits, because it can no longer be sure to lead; the standby waits. On a busy machine either may be
	// the leader.
	w.eventually(func(g Gomega) {
		pid, err := w.PID(fleet.HubName)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(w.second.Ended()).NotTo(Equal(pid == 0), "one of them ends")
	})

	// The agent goes on: changes in the member are reverted.
	member, err := w.Client("edge-1")
	g.Expect(err).NotTo(HaveOccurred())
	change := configMap(1)
	g.Expect(member.Get(ctx, client.ObjectKeyFromObject(change), change)).To(Succeed())
	g.Expect(member.Patch(ctx, change, client.RawPatch(types.MergePatchType, []byte(`{"data":{"number":"changed"}}`)))).To(Succeed())
	w.eventually(func(g Gomega) {
		live := &corev1.ConfigMap{}
		g.Expect(member.Get(ctx, client.ObjectKeyFromObject(change), live)).To(Succeed())
		g.Expect(live.Data).To(Equal(configMap(1).Data))
	})

	for _, lost := range []int{1, 2} {
		w.etcd.start(t, lost)
	}
	began := time.Now()
	w.restarts()
	w.send(second)
	t.Logf("a change is in the member %.1f s after the majority is back", time.Since(began).Seconds())
}
