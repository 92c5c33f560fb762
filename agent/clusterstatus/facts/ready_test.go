package facts_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/agent/clusterstatus/facts"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func TestReady(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		probe      facts.Probe
		wantStatus metav1.ConditionStatus
		wantReason string
	}{
		"an answer of 200 is ready":            {facts.Probe{Answered: true, Code: 200}, metav1.ConditionTrue, clusterv1alpha1.ReasonClusterReady},
		"another success is not ready":         {facts.Probe{Answered: true, Code: 204}, metav1.ConditionFalse, clusterv1alpha1.ReasonClusterNotReady},
		"an answer of failure is no answer":    {facts.Probe{Code: 500}, metav1.ConditionFalse, clusterv1alpha1.ReasonClusterNotReachable},
		"a member that does not answer is not": {facts.Probe{}, metav1.ConditionFalse, clusterv1alpha1.ReasonClusterNotReachable},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got := facts.Ready(tc.probe)
			g.Expect(got.Type).To(Equal(clusterv1alpha1.ClusterReady))
			g.Expect(got.Status).To(Equal(tc.wantStatus))
			g.Expect(got.Reason).To(Equal(tc.wantReason))
			g.Expect(got.Message).NotTo(BeEmpty())
		})
	}
}

// TestAMemberThatRefusesTheCredentialsOfItsAgentIsNotCalledUnreachable checks the reason: "unreachable" would send
// people looking for a network problem, while an API server answers.
func TestAMemberThatRefusesTheCredentialsOfItsAgentIsNotCalledUnreachable(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	got := facts.Ready(facts.Probe{Code: 401})
	g.Expect(got.Status).To(Equal(metav1.ConditionFalse))
	g.Expect(got.Reason).To(Equal(clusterv1alpha1.ReasonClusterNotReachable), "what was reported of it is as old")
	g.Expect(got.Message).To(And(ContainSubstring("credentials"), ContainSubstring("401"), ContainSubstring("kubeconfig")))
	g.Expect(facts.Ready(facts.Probe{Code: 500}).Message).To(Equal("cluster is not reachable"))
}

func TestDamper(t *testing.T) {
	t.Parallel()
	yes := metav1.Condition{Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionTrue}
	no := metav1.Condition{Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionFalse}
	unknown := metav1.Condition{Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionUnknown}
	type look struct {
		second   int
		observed metav1.Condition
		current  *metav1.Condition
		counts   bool
	}
	cases := map[string][]look{
		"the first look counts, whatever the hub says": {{0, no, &yes, true}},
		"the first look of a new cluster counts":       {{0, yes, nil, true}},
		"without a condition every look counts":        {{0, yes, nil, true}, {1, no, nil, true}},
		"a failure counts once it has lasted":          {{0, yes, nil, true}, {10, no, &yes, false}, {39, no, &yes, false}, {40, no, &yes, true}},
		"a recovery counts once it has lasted":         {{0, no, nil, true}, {10, yes, &no, false}, {40, yes, &no, true}},
		"a flip begins the wait anew": {
			{0, yes, nil, true}, {10, no, &yes, false}, {30, yes, &yes, true}, {35, no, &yes, false}, {60, no, &yes, false}, {65, no, &yes, true},
		},
		"what the hub concluded from silence is taken back at once": {{0, yes, nil, true}, {90, yes, &unknown, true}},
	}
	for name, looks := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			d := facts.Debouncer{SuccessThreshold: 30 * time.Second, FailureThreshold: 30 * time.Second}
			for i, l := range looks {
				var counts bool
				d, counts = d.Next(l.observed, l.current, noon.Add(time.Duration(l.second)*time.Second))
				g.Expect(counts).To(Equal(l.counts), "look %d", i)
			}
		})
	}
}
