package cli

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
)

func TestCordonAndUncordon(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := cluster.Shared(t, cluster.Options{})
	hubClient := hub.Client(t)
	g.Expect(hubClient.Create(t.Context(), builder.MakeCluster("to-cordon").Taint("mine", corev1.TaintEffectNoSchedule).Obj())).To(Succeed())
	taints := func() []string {
		c := &clusterv1alpha1.Cluster{}
		g.Expect(hubClient.Get(t.Context(), client.ObjectKey{Name: "to-cordon"}, c)).To(Succeed())
		var out []string
		for _, taint := range c.Spec.Taints {
			out = append(out, taint.ToString())
		}
		return out
	}
	const cordoned, evicting = "cluster.karmada.io/unschedulable:NoSchedule", "cluster.karmada.io/unschedulable:NoExecute"
	kubeconfig := hub.Kubeconfig
	run := func(args ...string) *execution {
		e := &execution{}
		g.ExpectWithOffset(1, e.run(t.Context(), append(args, "--kubeconfig", kubeconfig)...)).To(Equal(0), e.err.String())
		return e
	}

	g.Expect(run("cordon", "to-cordon").out.String()).To(Equal("cluster to-cordon is cordoned: nothing new is sent there\n"))
	g.Expect(taints()).To(ConsistOf("mine:NoSchedule", cordoned))
	g.Expect(run("cordon", "to-cordon").out.String()).To(ContainSubstring("(as before)"))
	g.Expect(run("cordon", "--evict", "to-cordon").out.String()).To(ContainSubstring("moved away"))
	g.Expect(taints()).To(ConsistOf("mine:NoSchedule", cordoned, evicting))
	g.Expect(run("uncordon", "to-cordon").out.String()).To(Equal("cluster to-cordon is not cordoned any more\n"))
	g.Expect(taints()).To(ConsistOf("mine:NoSchedule"))

	e := &execution{}
	g.Expect(e.run(t.Context(), "cordon", "nowhere", "to-cordon", "--kubeconfig", kubeconfig)).To(Equal(1))
	g.Expect(e.lastLine()).To(Equal("Error: the hub has no cluster \"nowhere\"; `hub clusters` lists them"))
	g.Expect(taints()).To(ConsistOf("mine:NoSchedule", cordoned), "the others are cordoned nevertheless")
}
