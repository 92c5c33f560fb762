package setup_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/setup"
)

func TestARunningAgentSaysHowItIs(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newJoined(t, "asked")
	dir := t.TempDir()
	_, err := setup.AskReport(t.Context(), dir)
	g.Expect(err).To(MatchError(setup.ErrNotRunning))
	// What an agent that was killed left is no obstacle.
	g.Expect(os.WriteFile(filepath.Join(dir, "agent.sock"), nil, 0o600)).To(Succeed())
	_, err = setup.AskReport(t.Context(), dir)
	g.Expect(err).To(MatchError(setup.ErrNotRunning))

	stop := w.run(t, func(o *setup.Options) { o.StateDir = dir })
	w.place(t)
	w.work(t, "settings", w.configMap("settings"))
	bad := w.configMap("bad")
	delete(bad, "kind")
	w.work(t, "bad", w.configMap("other"), bad)
	ask := func(g Gomega) setup.Report {
		r, err := setup.AskReport(t.Context(), dir)
		g.Expect(err).NotTo(HaveOccurred())
		return r
	}
	g.Eventually(func(g Gomega) {
		r := ask(g)
		g.Expect(r.Cluster).To(Equal("asked"))
		g.Expect(r.Hub).To(Equal(w.config.Host))
		g.Expect(r.Silence).To(BeEmpty())
		g.Expect(r.Heard).NotTo(BeZero())
		g.Expect(r.Ready).To(BeTrue())
		g.Expect(r.Works.Known).To(Equal(2))
		g.Expect(r.Works.Applied).To(Equal(1))
		g.Expect(r.Works.Failing).To(Equal(1))
		g.Expect(r.Works.Failures).To(ConsistOf(HaveField("Work", "bad")))
		g.Expect(r.Works.Unsent).To(BeZero())
		g.Expect(r.Drift).To(BeZero())
	}).WithTimeout(waitTimeout).Should(Succeed())
	info, err := os.Stat(filepath.Join(dir, "agent.sock"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o600)))

	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.member, Name: "settings"}}
	g.Expect(w.client.Patch(t.Context(), cm, client.RawPatch(types.MergePatchType, []byte(`{"data":{"a":"theirs"}}`)))).To(Succeed())
	g.Eventually(func(g Gomega) { g.Expect(ask(g).Drift).To(Equal(int64(1))) }).WithTimeout(waitTimeout).Should(Succeed())
	stop()
	_, err = setup.AskReport(t.Context(), dir)
	g.Expect(err).To(MatchError(setup.ErrNotRunning))
}
