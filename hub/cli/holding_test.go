package cli

import (
	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// holding makes edge-1 report that its agent holds back deletions, and checks the commands that an operator runs first.
func (l *lookout) holding(g *WithT) {
	ctx := l.t.Context()
	c := &clusterv1alpha1.Cluster{}
	set := func(status metav1.ConditionStatus) {
		g.Expect(l.c.Get(ctx, client.ObjectKey{Name: "edge-1"}, c)).To(Succeed())
		meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
			Type: clusterv1alpha1.ClusterDeletionsHeld, Status: status, Reason: clusterv1alpha1.ReasonTooManyDeletions, Message: "30 of 40 objects were to go: set an annotation",
		})
		g.Expect(l.c.Status().Update(ctx, c)).To(Succeed())
	}
	set(metav1.ConditionTrue)
	for _, args := range [][]string{{"get"}, {"get", "deployments"}, {"get", "--unready"}} {
		_, said := l.run(ExitDone, args...)
		g.Expect(said).To(ContainSubstring("Cluster edge-1 holds back deletions: 30 of 40 objects were to go: set an annotation\n"), "%q", args)
	}
	for _, args := range [][]string{{"clusters"}, {"clusters", "--unready"}, {"clusters", "describe", "edge-1"}} {
		out, _ := l.run(ExitDone, args...)
		g.Expect(out).To(MatchRegexp(`It holds back deletions: 30 of 40 objects`), "%q", args)
	}
	out, _ := l.run(ExitDone, "clusters", "-o", "json")
	g.Expect(out).To(ContainSubstring(`"deletionsHeld": "30 of 40 objects were to go: set an annotation"`))
	set(metav1.ConditionFalse)
	_, said := l.run(ExitDone, "get")
	g.Expect(said).NotTo(ContainSubstring("holds back"))
}
