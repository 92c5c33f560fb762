package revision

import (
	"testing"

	. "github.com/onsi/gomega"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
)

func TestAClusterGetsWhatItWasSentOrTheStableRevisionAndNothingOlder(t *testing.T) {
	t.Parallel()
	r3, r4, r5 := ID{3, "c"}, ID{4, "d"}, ID{5, "e"}
	status := fairleadv1alpha1.StagedRolloutStatus{
		Revision: 5, Stable: 4,
		Revisions: []fairleadv1alpha1.RevisionStatus{{Number: 3, Hash: "c"}, {Number: 4, Hash: "d"}, {Number: 5, Hash: "e"}},
		Clusters: []fairleadv1alpha1.ClusterGroup{
			{State: fairleadv1alpha1.ClusterInFlight, Revision: 5, Names: []string{"sent"}},
			{State: fairleadv1alpha1.ClusterSetAside, Names: []string{"silent"}},
			{State: fairleadv1alpha1.ClusterInFlight, Revision: 9, Names: []string{"odd"}},
		},
	}
	for name, c := range map[string]struct {
		cluster string
		have    ID
		want    ID
	}{
		"a cluster that was sent the newest gets it":                 {"sent", r4, r5},
		"a cluster that was sent the newest gets it as its first":    {"sent", ID{}, r5},
		"one that is set aside keeps what it has":                    {"silent", r3, r3},
		"one that is set aside and has nothing gets nothing":         {"silent", ID{}, ID{}},
		"one that is not named follows the stable revision":          {"other", r3, r4},
		"a new target gets the stable revision":                      {"other", ID{}, r4},
		"one that has more than the stable revision is not put back": {"other", r5, r5},
		"a status that is older than the Work moves nothing back":    {"sent", ID{6, "f"}, ID{6, "f"}},
		"a revision that is not kept moves nothing":                  {"odd", r3, r3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(NewPlan(&status).Wanted(c.cluster, c.have)).To(Equal(c.want))
		})
	}
}

func TestBeforeAnythingIsStableNothingIsMade(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(Plan{}.Wanted("any", ID{})).To(Equal(ID{}))
	g.Expect(Plan{}.Wanted("any", ID{2, "b"})).To(Equal(ID{2, "b"}))
}

func TestAnIDIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(Parse(ID{5, "3f2a"}.String())).To(Equal(ID{5, "3f2a"}))
	for _, other := range []string{"", "5", "5-", "-3f", "0-3f", "x-3f", "-1-3f"} {
		g.Expect(Parse(other)).To(Equal(ID{}), other)
	}
}

func TestOnlyANewestRevisionAfterAStableOneIsUnproven(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	status := fairleadv1alpha1.StagedRolloutStatus{
		Revision: 5, Stable: 4, Revisions: []fairleadv1alpha1.RevisionStatus{{Number: 4, Hash: "d"}, {Number: 5, Hash: "e"}},
		Clusters: []fairleadv1alpha1.ClusterGroup{
			{State: fairleadv1alpha1.ClusterFailed, Revision: 5, Names: []string{"sent"}},
			{State: fairleadv1alpha1.ClusterCatchingUp, Revision: 4, Names: []string{"back"}},
			{State: fairleadv1alpha1.ClusterSetAside, Names: []string{"silent"}},
		},
	}
	plan := NewPlan(&status)
	g.Expect(plan.Unproven("sent")).To(BeTrue())
	for _, cluster := range []string{"back", "silent", "other"} {
		g.Expect(plan.Unproven(cluster)).To(BeFalse(), cluster)
	}
	status.Stable = 0
	g.Expect(NewPlan(&status).Unproven("sent")).To(BeFalse(), "the first revision has nothing before it that would be proven")
}
