package main

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

func binding(clusters []string, leaves string, items ...workv1alpha2.AggregatedStatusItem) *workv1alpha2.ResourceBinding {
	b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "apps-0", Name: "app-0"}}
	for _, name := range clusters {
		b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: name})
	}
	if leaves != "" {
		b.Spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{FromCluster: leaves}}
	}
	b.Status.AggregatedStatus = items
	return b
}

func healthy(cluster string) workv1alpha2.AggregatedStatusItem {
	return workv1alpha2.AggregatedStatusItem{ClusterName: cluster, Applied: true, Health: workv1alpha1.Healthy}
}

func TestAnApplicationIsElsewhereOnceItRunsThere(t *testing.T) {
	t.Parallel()
	stale := healthy("a")
	stale.StaleSince = new(metav1.Now())
	unhealthy := healthy("b")
	unhealthy.Health = workv1alpha1.Unhealthy
	for name, tt := range map[string]struct {
		binding *workv1alpha2.ResourceBinding
		want    place
	}{
		"in a cluster that is to be lost":     {binding([]string{"a"}, "", healthy("a")), place{lost: true}},
		"in one that is lost":                 {binding([]string{"a"}, "", stale), place{lost: true}},
		"in several, of which one is lost":    {binding([]string{"a", "b"}, "", healthy("a"), healthy("b")), place{lost: true}},
		"that it has left, for none yet":      {binding(nil, "a", stale), place{remains: true}},
		"that it has left, not yet there":     {binding([]string{"b"}, "a", stale), place{remains: true}},
		"that it has left, not healthy there": {binding([]string{"b"}, "a", stale, unhealthy), place{remains: true}},
		"that it has left, and runs":          {binding([]string{"b"}, "a", stale, healthy("b")), place{runs: true, remains: true}},
		"that it has left for good":           {binding([]string{"b"}, "", healthy("b")), place{runs: true}},
		"another one that it leaves":          {binding([]string{"b"}, "c", healthy("b")), place{runs: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(placeOf(tt.binding, sets.New("a"))).To(Equal(tt.want))
		})
	}
}

func TestOnlyApplicationsThatWereThereCount(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m := &moves{lost: sets.New("a"), places: map[client.ObjectKey]place{}, affected: map[client.ObjectKey]bool{}}
	other := binding([]string{"b"}, "", healthy("b"))
	other.Name = "app-1"
	m.see(binding([]string{"a"}, "", healthy("a")))
	m.see(other)
	g.Expect(m.begin()).To(Equal(1))
	runs := func(p place) bool { return p.runs }
	missing, example, err := m.missing(runs)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(missing).To(Equal(1))
	g.Expect(example.Name).To(Equal("app-0"))

	m.see(binding([]string{"b"}, "a"))
	first, last := m.leftAt()
	g.Expect(first).To(Equal(last))
	g.Expect(first).NotTo(BeZero())
	m.see(binding([]string{"b"}, "a", healthy("b")))
	missing, _, _ = m.missing(runs)
	g.Expect(missing).To(BeZero())
	left, _ := m.leftAt()
	g.Expect(left).To(Equal(first), "to run elsewhere is not to leave")
}
