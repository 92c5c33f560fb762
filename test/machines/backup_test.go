package machines

import (
	"context"
	"os"
	"path/filepath"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/test/process"
)

// restored is the name of a hub on a machine with its own etcd.
const restored = "restored"

// isRestoredAlone backs up the hub of one of the machines, and restores it as a hub on one machine, with everything in
// etcd.
func (w *world) isRestoredAlone(ctx context.Context, hub string, want int) {
	w.t.Helper()
	g := NewWithT(w.t)
	file := filepath.Join(w.t.TempDir(), "hub.backup")
	_, err := w.Run(ctx, "hub", "backup", "--data-dir", w.dataDir(hub), "--unsealed", file)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = w.Run(ctx, "hub", "restore", "--data-dir", w.dataDir(restored), file)
	g.Expect(err).NotTo(HaveOccurred())
	// All machines are this one, where the original hub still has its port.
	g.Expect(os.Remove(filepath.Join(w.dataDir(restored), "port"))).To(Succeed())
	p, err := process.Start(process.Spec{Executable: w.Program("hub"), Log: w.Log(restored), Args: []string{
		"serve", "--data-dir", w.dataDir(restored), "--bind-address", "127.0.0.1", "--secure-port", "0", "--admin-kubeconfig", w.Kubeconfig(restored),
		"--metrics-bind-address", "0", "--dashboard-bind-address", "0",
	}})
	g.Expect(err).NotTo(HaveOccurred())
	defer p.Kill()
	w.eventually(func(g Gomega) {
		g.Expect(p.Ended()).To(BeFalse(), process.Tail(w.Log(restored)))
		c, err := w.Client(restored)
		g.Expect(err).NotTo(HaveOccurred())
		list := &corev1.ConfigMapList{}
		g.Expect(c.List(ctx, list, client.MatchingLabels{"test": label})).To(Succeed())
		g.Expect(list.Items).To(HaveLen(want))
		g.Expect(c.Get(ctx, client.ObjectKey{Name: "edge-1"}, &clusterv1alpha1.Cluster{})).To(Succeed())
	})
}
