package index_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/people/dashboard/index"
	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/hub/people/view/clusters"
	"fairlead.dev/test/builder"
)

func ready(name string, status metav1.ConditionStatus) *clusterv1alpha1.Cluster {
	c := builder.MakeCluster(name).Obj()
	c.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ClusterReady, Status: status, Message: "It says so."}}
	return c
}

func binding(name string, targets ...string) *workv1alpha2.ResourceBinding {
	b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	b.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: name}
	for _, c := range targets {
		b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: c})
		b.Status.AggregatedStatus = append(b.Status.AggregatedStatus, workv1alpha2.AggregatedStatusItem{ClusterName: c, Applied: true, Health: "Healthy"})
	}
	return b
}

func TestAnApplicationIsJudgedAgainWhenAClusterFallsSilent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	x, now := index.New(), time.Unix(1000, 0)
	key := index.Key{Namespace: "shop", Name: "web"}
	x.PutBinding(binding("web", "a", "b"), now)
	g.Expect(x.Application(key).State).To(Equal(applications.Stale), "no cluster is known yet")
	x.PutCluster(ready("a", "True"), now)
	x.PutCluster(ready("b", "True"), now)
	g.Expect(x.Application(key).State).To(Equal(applications.Healthy))
	x.PutCluster(ready("a", "Unknown"), now.Add(time.Minute))
	g.Expect(x.Application(key).State).To(Equal(applications.Stale))

	all := func(index.Change) bool { return true }
	changes := x.Changes(2, all)
	g.Expect(changes).To(HaveLen(2))
	g.Expect(changes[0].Application).To(Equal(key), "the latest is the first")
	g.Expect(changes[1]).To(Equal(index.Change{At: now.Add(time.Minute), Cluster: "a", From: "Ready", To: "Silent", Why: "It says so."}))
	g.Expect(x.Changes(9, func(c index.Change) bool { return c.Cluster != "" })).To(HaveLen(1), "what may not be seen is left out")

	x.DropCluster("a", now)
	g.Expect(x.Application(key).Why).To(ContainSubstring("no such cluster"))
	g.Expect(x.ClusterNames()).To(Equal([]string{"b"}))
}

func TestApplicationsOfAClusterAreCounted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	x, now := index.New(), time.Unix(1000, 0)
	x.PutCluster(ready("a", "True"), now)
	beat := metav1.NewMicroTime(now.Add(-3 * time.Second))
	x.PutLease("a", &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{RenewTime: &beat}})
	x.PutBinding(binding("web", "a"), now)
	failing := binding("api", "a")
	failing.Status.AggregatedStatus[0] = workv1alpha2.AggregatedStatusItem{ClusterName: "a", AppliedMessage: "no"}
	x.PutBinding(failing, now)
	all := index.ClusterDetails{Leases: true, Works: true}
	row, ok := x.Cluster("a", now, all)
	g.Expect(ok).To(BeTrue())
	g.Expect(*row.Works).To(Equal(clusters.Works{Total: 2, Applied: 1, Failing: 1}))
	g.Expect(*row.Lag).To(Equal(3.0))
	hidden, _ := x.Cluster("a", now, index.ClusterDetails{})
	g.Expect(hidden.Works).To(BeNil())
	g.Expect(hidden.Lag).To(BeNil())

	x.PutBinding(binding("api", "b"), now)
	x.DropBinding(index.Key{Namespace: "shop", Name: "web"}, now)
	x.DropBinding(index.Key{Namespace: "shop", Name: "web"}, now)
	row, _ = x.Cluster("a", now, all)
	g.Expect(*row.Works).To(Equal(clusters.Works{}))
	g.Expect(x.InCluster("a")).To(BeEmpty())
	g.Expect(x.InCluster("b")).To(HaveLen(1))
	x.PutLease("a", nil)
	g.Expect(x.Clusters(now, all)[0].Lag).To(BeNil())
}

func TestListsAreInOrder(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	x, now := index.New(), time.Unix(1000, 0)
	for _, name := range []string{"c", "a", "b"} {
		x.PutCluster(ready(name, "True"), now)
		x.PutBinding(binding(name, name), now)
	}
	g.Expect(x.ClusterNames()).To(Equal([]string{"a", "b", "c"}))
	var names []string
	for _, a := range x.Applications() {
		names = append(names, a.Name)
	}
	g.Expect(names).To(Equal([]string{"a", "b", "c"}))
	x.PutPolicy(builder.MakePolicy("shop", "p").Select("apps/v1", "Deployment", "a").Obj())
	g.Expect(x.Policies(x.Applications())).To(HaveLen(1))
	x.DropPolicy(builder.MakePolicy("shop", "p").Obj())
	g.Expect(x.Policies(nil)).To(BeEmpty())
}

func TestChangesAreBounded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	x := index.New()
	for i := range 1000 {
		x.PutCluster(ready("a", map[bool]metav1.ConditionStatus{true: "True", false: "False"}[i%2 == 0]), time.Unix(int64(i), 0))
	}
	changes := x.Changes(10_000, func(index.Change) bool { return true })
	g.Expect(changes).To(HaveLen(500))
	g.Expect(changes[0].At).To(Equal(time.Unix(999, 0)))
	g.Expect(changes[499].At).To(Equal(time.Unix(500, 0)))
}
