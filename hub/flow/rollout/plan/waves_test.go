package plan

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/revision"
)

func targets(n int, labels func(i int) map[string]string) []*clusterv1alpha1.Cluster {
	var out []*clusterv1alpha1.Cluster
	for i := range n {
		out = append(out, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("shop-%03d", i), Labels: labels(i)}})
	}
	return out
}

func none(int) map[string]string { return nil }

func sizes(waves []revision.Wave) map[string]int {
	out := map[string]int{}
	for _, w := range waves {
		out[w.Name] = len(w.Clusters)
	}
	return out
}

func TestTargetsAreDivided(t *testing.T) {
	t.Parallel()
	ring := &policyv1alpha1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"ring": "0"}}}
	for name, c := range map[string]struct {
		waves   []fairleadv1alpha1.Wave
		targets []*clusterv1alpha1.Cluster
		want    map[string]int
	}{
		"by default into one, a tenth and the rest":    {nil, targets(312, none), map[string]int{"canary": 1, "tenth": 32, "rest": 279}},
		"so that one target is the canary":             {nil, targets(1, none), map[string]int{"canary": 1, "tenth": 0, "rest": 0}},
		"so that of no targets all waves are empty":    {nil, nil, map[string]int{"canary": 0, "tenth": 0, "rest": 0}},
		"by labels, and the rest by no name":           {[]fairleadv1alpha1.Wave{{Name: "ring-0", Clusters: ring}}, targets(9, func(i int) map[string]string { return map[string]string{"ring": fmt.Sprint(i % 3)} }), map[string]int{"ring-0": 3, "rest": 6}},
		"so that a wave that takes all is the last":    {[]fairleadv1alpha1.Wave{{Name: "all"}}, targets(5, none), map[string]int{"all": 5}},
		"so that nobody is in two waves":               {[]fairleadv1alpha1.Wave{{Name: "a", Size: new(intstr.FromString("60%"))}, {Name: "b", Size: new(intstr.FromString("60%"))}}, targets(5, none), map[string]int{"a": 3, "b": 2, "rest": 0}},
		"so that an odd size takes nobody":             {[]fairleadv1alpha1.Wave{{Name: "a", Size: new(intstr.FromString("many"))}}, targets(5, none), map[string]int{"a": 0, "rest": 5}},
		"so that what is said of the rest is believed": {[]fairleadv1alpha1.Wave{{Name: "a", Size: new(intstr.FromInt32(1))}, {Name: "rest", Approval: fairleadv1alpha1.ApprovalBefore}}, targets(5, none), map[string]int{"a": 1, "rest": 4}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			waves := Waves(Input{Strategy: fairleadv1alpha1.RolloutStrategySpec{Waves: c.waves}, Seed: "u", Targets: c.targets})
			g.Expect(sizes(waves)).To(Equal(c.want))
			seen := map[string]bool{}
			for _, w := range waves {
				for _, name := range w.Clusters {
					g.Expect(seen[name]).To(BeFalse(), name)
					seen[name] = true
				}
			}
			g.Expect(seen).To(HaveLen(len(c.targets)))
		})
	}
}

func TestTheOrderIsThatOfTheLabelAndThenDiffersBetweenApplications(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	spec := fairleadv1alpha1.RolloutStrategySpec{Waves: []fairleadv1alpha1.Wave{{Name: "all", OrderByLabel: "ring"}}}
	numbers := targets(12, func(i int) map[string]string {
		if i == 0 {
			return nil
		}
		return map[string]string{"ring": fmt.Sprint(i)}
	})
	order := Waves(Input{Strategy: spec, Seed: "u", Targets: numbers})[0].Clusters
	g.Expect(order[0]).To(Equal("shop-001"))
	g.Expect(order[9:]).To(Equal([]string{"shop-010", "shop-011", "shop-000"}), "as numbers, and those without the label last")
	alike := targets(40, none)
	one, other := Waves(Input{Strategy: spec, Seed: "a", Targets: alike})[0].Clusters, Waves(Input{Strategy: spec, Seed: "b", Targets: alike})[0].Clusters
	g.Expect(one).NotTo(Equal(other))
	g.Expect(one).To(Equal(Waves(Input{Strategy: spec, Seed: "a", Targets: alike})[0].Clusters))
	first := map[string]bool{}
	for i := range 200 {
		first[Waves(Input{Strategy: spec, Seed: fmt.Sprint(i), Targets: alike})[0].Clusters[0]] = true
	}
	g.Expect(len(first)).To(BeNumerically(">", 30), "each cluster is the canary of some application")
}

func TestALateTargetGoesWhereAllLikeItGo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	spec := fairleadv1alpha1.RolloutStrategySpec{Waves: []fairleadv1alpha1.Wave{
		{Name: "canary", Size: new(intstr.FromInt32(1))},
		{Name: "ring-0", Clusters: &policyv1alpha1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"ring": "0"}}}},
	}}
	late := targets(2, func(i int) map[string]string { return map[string]string{"ring": fmt.Sprint(i)} })
	g.Expect(Place(&spec, late[0])).To(Equal(1))
	g.Expect(Place(&spec, late[1])).To(Equal(2), "the rest")
}

func TestTheFirstRevisionIsStagedWhereApprovalsAreAsked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec fairleadv1alpha1.RolloutStrategySpec
		want fairleadv1alpha1.FirstTime
	}{
		"nobody approves anything": {want: fairleadv1alpha1.FirstTimeAllAtOnce},
		"a person lets a wave begin": {
			fairleadv1alpha1.RolloutStrategySpec{Waves: []fairleadv1alpha1.Wave{{Name: "a"}, {Name: "rest", Approval: fairleadv1alpha1.ApprovalBefore}}}, fairleadv1alpha1.FirstTimeStaged,
		},
		"a person lets a wave pass": {fairleadv1alpha1.RolloutStrategySpec{Waves: []fairleadv1alpha1.Wave{{Name: "a", Approval: fairleadv1alpha1.ApprovalAfter}}}, fairleadv1alpha1.FirstTimeStaged},
		"the strategy says otherwise": {
			fairleadv1alpha1.RolloutStrategySpec{FirstTime: fairleadv1alpha1.FirstTimeAllAtOnce, Waves: []fairleadv1alpha1.Wave{{Name: "a", Approval: fairleadv1alpha1.ApprovalAfter}}},
			fairleadv1alpha1.FirstTimeAllAtOnce,
		},
		"the strategy stages it without approvals": {fairleadv1alpha1.RolloutStrategySpec{FirstTime: fairleadv1alpha1.FirstTimeStaged}, fairleadv1alpha1.FirstTimeStaged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(Defaulted(c.spec).FirstTime).To(Equal(c.want))
		})
	}
}
