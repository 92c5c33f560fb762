package failover

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/hub/adjust/failover/evict"
	"fairlead.dev/test/builder"
)

// TestTaintsAreReadWhereTheyEvict holds that it is also asked who put a taint on a cluster that
// is being left: it may make a wish a must.
func TestTaintsAreReadWhereTheyEvict(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := builder.MakeCluster("edge-1").Obj()
	s := &scope{Input: evict.Input{Clusters: map[string]*clusterv1alpha1.Cluster{"edge-1": c}}}
	g.Expect(tainted(s)).To(BeFalse())
	c.Spec.Taints = []corev1.Taint{{Key: "lost", Effect: corev1.TaintEffectNoSchedule}}
	g.Expect(tainted(s)).To(BeFalse(), "that drives nothing out")
	c.Spec.Taints[0].Effect = corev1.TaintEffectNoExecute
	g.Expect(tainted(s)).To(BeTrue())
}
