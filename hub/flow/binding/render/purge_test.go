package render

import (
	"testing"

	. "github.com/onsi/gomega"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

func TestHold(t *testing.T) {
	t.Parallel()
	with := func(replicas string) *workv1alpha1.Work {
		w := &workv1alpha1.Work{}
		w.Annotations = map[string]string{contract.ReplicasAnnotation: replicas}
		return w
	}
	tests := map[string]struct {
		share, purging int32
		live           *workv1alpha1.Work
		want           int32
	}{
		"nothing is purged": {share: 4, live: with("2"), want: 4},
		"replicas that are being purged are not replaced": {share: 4, purging: 2, live: with("2"), want: 2},
		"scaling up proceeds":                             {share: 10, purging: 2, live: with("2"), want: 8},
		"scaling down proceeds":                           {share: 1, purging: 2, live: with("2"), want: 1},
		"a cluster without a Work is not limited":         {share: 4, purging: 2, want: 4},
		"a Work without the annotation":                   {share: 4, purging: 2, live: &workv1alpha1.Work{}, want: 4},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(Hold(tc.share, tc.live, tc.purging)).To(Equal(tc.want))
		})
	}
}

func TestPurging(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	spec := &workv1alpha2.ResourceBindingSpec{
		Replicas:  6,
		Placement: &policyv1alpha1.Placement{ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.Divided}},
		GracefulEvictionTasks: []workv1alpha2.GracefulEvictionTask{
			{FromCluster: "there", PurgeMode: policyv1alpha1.PurgeDirectly, Replicas: new(int32(2))},
			{FromCluster: "gone", PurgeMode: policyv1alpha1.PurgeImmediately, Replicas: new(int32(3))},
			{FromCluster: "there", PurgeMode: policyv1alpha1.PurgeGracefully, Replicas: new(int32(4))},
			{FromCluster: "there", PurgeMode: policyv1alpha1.PurgeImmediately},
		},
	}
	there := func(cluster string) bool { return cluster == "there" }
	g.Expect(Purging(spec, there)).To(BeEquivalentTo(2))
	spec.Placement.ReplicaScheduling.ReplicaSchedulingType = policyv1alpha1.Duplicated
	g.Expect(Purging(spec, there)).To(BeZero(), "duplicated replicas are not purged in part")
}
