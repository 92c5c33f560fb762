package admit

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/flow/rollout/judge"
)

// soaking is a rollout of revision 2, whose first wave has edge-1 and soaks for ten minutes, since noon.
type soaking struct {
	in Input
}

func newSoaking() *soaking {
	r2 := revision.ID{Number: 2, Hash: "a"}
	work := func(id revision.ID) judge.Work {
		return judge.Work{Exists: true, Revision: id, Report: judge.Report{Current: true, Applied: true, Health: judge.Healthy}}
	}
	cluster := func(name string) *clusterv1alpha1.Cluster {
		return &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	s := &soaking{in: Input{
		Live: &Live{Hash: "a"},
		Clusters: []Cluster{
			{Cluster: cluster("edge-1"), Target: true, Work: work(r2)},
			{Cluster: cluster("edge-2"), Target: true, Work: work(revision.ID{Number: 1, Hash: "o"})},
		},
		Frozen: &Frozen{Waves: []revision.Wave{{Name: "canary", Clusters: []string{"edge-1"}}, {Name: "rest", Clusters: []string{"edge-2"}}}},
	}}
	s.in.Frozen.Strategy.Waves = []fairleadv1alpha1.Wave{{Name: "canary", Soak: &metav1.Duration{Duration: 10 * time.Minute}}, {Name: "rest"}}
	began := &metav1.Time{Time: noon()}
	s.in.Status = fairleadv1alpha1.StagedRolloutStatus{
		Revision: 2, Stable: 1, Phase: fairleadv1alpha1.RolloutSoaking, Wave: "canary",
		Revisions: []fairleadv1alpha1.RevisionStatus{{Number: 1, Hash: "o"}, {Number: 2, Hash: "a", Cause: fairleadv1alpha1.CauseEdited}},
		Clusters:  []fairleadv1alpha1.ClusterGroup{{State: fairleadv1alpha1.ClusterHealthy, Revision: 2, Names: []string{"edge-1"}}},
		Waves:     []fairleadv1alpha1.WaveStatus{{Name: "canary", StartedAt: began, WellSince: began}},
	}
	return s
}

// at decides at a second after noon. Silent says since which second edge-1 is silent, -1 that it is heard from; that is early for
// 40 s.
func (s *soaking) at(second, silent int) Decision {
	c := &s.in.Clusters[0]
	s.in.Now = noon().Add(time.Duration(second) * time.Second)
	c.SilentSince, c.Early, c.Unconfirmed = time.Time{}, false, false
	if silent >= 0 {
		c.SilentSince = noon().Add(time.Duration(silent) * time.Second)
		c.Early = second-silent < 40
		c.Unconfirmed = c.Early
	}
	d := Decide(s.in)
	s.in.Status, s.in.Memory = d.Status, d.Memory
	return d
}

func (s *soaking) passed() bool { return s.in.Status.Waves[0].PassedAt != nil }

func TestALineThatIsLostForAMomentRestartsNoSoak(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newSoaking()
	s.at(300, -1)
	for _, second := range []int{301, 302, 303} {
		d := s.at(second, 300)
		g.Expect(d.Status.Phase).To(Equal(fairleadv1alpha1.RolloutSoaking))
		g.Expect(d.Status.Waves[0].WellSince.Time).To(Equal(noon()), "what it has soaked is kept")
	}
	d := s.at(304, -1)
	g.Expect(d.Status.Phase).To(Equal(fairleadv1alpha1.RolloutSoaking))
	g.Expect(d.Status.Waves[0].WellSince.Time).To(Equal(noon().Add(4*time.Second)), "the time in between does not count")
	g.Expect(d.RetryAfter).To(Equal(300 * time.Second))
	s.at(400, 400)
	s.at(406, -1)
	s.at(609, -1)
	g.Expect(s.passed()).To(BeFalse())
	s.at(610, -1)
	g.Expect(s.passed()).To(BeTrue(), "it soaked for ten minutes without ten seconds of silence")
}

func TestNoWavePassesWhileItIsSilent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newSoaking()
	d := s.at(599, 598)
	g.Expect(d.Status.Conditions).To(ContainElement(HaveField("Message", ContainSubstring("edge-1"))))
	s.at(620, 598)
	g.Expect(s.passed()).To(BeFalse())
	s.at(625, -1)
	g.Expect(s.passed()).To(BeFalse(), "27 s of silence are to be soaked yet")
	s.at(627, -1)
	g.Expect(s.passed()).To(BeTrue())
}

func TestASilenceThatLastsIsALoss(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newSoaking()
	s.at(300, 300)
	d := s.at(340, 300)
	g.Expect(d.Status.Phase).To(Equal(fairleadv1alpha1.RolloutHalted))
	g.Expect(positions(&d.Status)["edge-1"].state).To(Equal(fairleadv1alpha1.ClusterLost))
}

// That the hub suspects itself depends on clusters whose changes nobody tells this rollout of.
func TestARolloutThatWaitsForTheHubLooksAgain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newSoaking()
	s.in.HubSuspect = true
	g.Expect(s.at(300, -1).RetryAfter).To(Equal(15 * time.Second))
	s = newSoaking()
	s.in.Status.Stable = 2
	s.at(300, -1)
	s.in.HubSuspect = true
	g.Expect(s.at(300, -1).RetryAfter).To(BeZero(), "nothing is left to do")
}

// What cannot be read is looked at again, and keeps no places from others meanwhile.
func TestAnUnreadableRevisionGivesItsPlacesBack(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newSoaking()
	s.in.Frozen = nil
	s.in.Status.Clusters = append(s.in.Status.Clusters,
		fairleadv1alpha1.ClusterGroup{State: fairleadv1alpha1.ClusterCatchingUp, Revision: 1, Names: []string{"edge-2"}},
		fairleadv1alpha1.ClusterGroup{State: fairleadv1alpha1.ClusterReturning, Reason: fairleadv1alpha1.ClusterReasonNobodyLetIn, Names: []string{"edge-4"}},
		fairleadv1alpha1.ClusterGroup{State: fairleadv1alpha1.ClusterReturning, Reason: fairleadv1alpha1.ClusterReasonSlot, Names: []string{"edge-3"}})
	d := s.at(300, -1)
	g.Expect(d.RetryAfter).To(Equal(time.Minute))
	g.Expect(d.Status.Clusters).To(Equal([]fairleadv1alpha1.ClusterGroup{
		{State: fairleadv1alpha1.ClusterCatchingUp, Reason: fairleadv1alpha1.ClusterReasonNobodyLetIn, Revision: 1, Names: []string{"edge-2"}},
		{State: fairleadv1alpha1.ClusterHealthy, Revision: 2, Names: []string{"edge-1"}},
		{State: fairleadv1alpha1.ClusterReturning, Reason: fairleadv1alpha1.ClusterReasonNobodyLetIn, Names: []string{"edge-3", "edge-4"}},
	}))
}

// What a status should have said counts though it could not be written, as when somebody else wrote first.
func TestASoakThatStoodStillIsToldAgain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newSoaking()
	s.at(300, 300)
	before := s.in.Status
	s.at(310, -1)
	s.in.Status = before
	d := s.at(311, -1)
	g.Expect(d.Status.Waves[0].WellSince.Time).To(Equal(noon().Add(10 * time.Second)))
}

// A hub that starts after a while finds what was reported before it ended: the soak is over once everybody has reported to it.
func TestASoakIsNotOverBeforeTheHubHasHeard(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newSoaking()
	s.in.Began, s.in.Heard = noon().Add(time.Hour), noon().Add(time.Hour+75*time.Second)
	d := s.at(3600, -1)
	g.Expect(s.passed()).To(BeFalse())
	g.Expect(d.Status.Phase).To(Equal(fairleadv1alpha1.RolloutSoaking))
	g.Expect(d.RetryAfter).To(Equal(75 * time.Second))
	s.at(3674, -1)
	g.Expect(s.passed()).To(BeFalse())
	s.at(3675, -1)
	g.Expect(s.passed()).To(BeTrue())

	s = newSoaking()
	s.in.Began, s.in.Heard = noon().Add(time.Hour), noon().Add(time.Hour+75*time.Second)
	s.at(3600, -1)
	d = s.at(3670, 3600)
	g.Expect(positions(&d.Status)["edge-1"].state).To(Equal(fairleadv1alpha1.ClusterLost), "it fell silent while there was no hub")

	s = newSoaking()
	s.in.Began, s.in.Heard = noon(), noon().Add(time.Hour)
	s.at(600, -1)
	g.Expect(s.passed()).To(BeTrue(), "what was sent since the hub began was reported since then")
}

// A hub that starts while a line is lost has forgotten since when, but the cluster says it.
func TestAHubThatStartsKnowsSinceWhenASoakStandsStill(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newSoaking()
	s.at(300, 300)
	s.in.Memory = Memory{}
	s.at(310, 300)
	d := s.at(312, -1)
	g.Expect(d.Status.Waves[0].WellSince.Time).To(Equal(noon().Add(12 * time.Second)))
}
