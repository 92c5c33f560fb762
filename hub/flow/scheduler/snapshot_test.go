package scheduler

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/test/builder"
)

func namesOf(list []*clusterv1alpha1.Cluster) []string {
	out := make([]string, len(list))
	for i, c := range list {
		out[i] = c.Name
	}
	return out
}

func TestSnapshot(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := &snapshot{}
	g.Expect(s.Clusters()).To(BeEmpty())
	for _, name := range []string{"b", "c", "a"} {
		s.Set(builder.MakeCluster(name).Obj())
	}
	read := s.Clusters()
	g.Expect(namesOf(read)).To(Equal([]string{"a", "b", "c"}))

	newer := builder.MakeCluster("b").Label("site", "shop").Obj()
	s.Set(newer)
	s.Remove("a")
	s.Remove("never-there")
	g.Expect(namesOf(s.Clusters())).To(Equal([]string{"b", "c"}))
	g.Expect(s.Clusters()[0]).To(BeIdenticalTo(newer))
	g.Expect(namesOf(read)).To(Equal([]string{"a", "b", "c"}), "what was read before stays")
	g.Expect(read[1]).NotTo(BeIdenticalTo(newer))
}

// BenchmarkSet measures the cost of a heartbeat.
func BenchmarkSet(b *testing.B) {
	s := &snapshot{}
	for i := range 1000 {
		s.Set(builder.MakeCluster(fmt.Sprintf("edge-%04d", i)).Obj())
	}
	c := builder.MakeCluster("edge-0500").Obj()
	b.ReportAllocs()
	for b.Loop() {
		s.Set(c)
	}
}
