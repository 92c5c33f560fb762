package operate

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
)

func statusOf(revision, stable int64, hashes ...string) *fairleadv1alpha1.StagedRolloutStatus {
	s := &fairleadv1alpha1.StagedRolloutStatus{Revision: revision, Stable: stable}
	for i, hash := range hashes {
		if hash != "" {
			s.Revisions = append(s.Revisions, fairleadv1alpha1.RevisionStatus{Number: int64(i + 1), Hash: hash})
		}
	}
	return s
}

// madeOf sets why the newest revision of a status was created, and which revision's content it has.
func madeOf(cause string, contentOf int64, status *fairleadv1alpha1.StagedRolloutStatus) *fairleadv1alpha1.StagedRolloutStatus {
	newest := &status.Revisions[len(status.Revisions)-1]
	newest.Cause, newest.ContentOf = cause, contentOf
	return status
}

// appended adds a revision that has passed every wave.
func appended(status *fairleadv1alpha1.StagedRolloutStatus, hash string) *fairleadv1alpha1.StagedRolloutStatus {
	status.Revision++
	status.Stable = status.Revision
	status.Revisions = append(status.Revisions, fairleadv1alpha1.RevisionStatus{Number: status.Revision, Hash: hash})
	return status
}

func TestToWhichRevisionAPersonGoesBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status  *fairleadv1alpha1.StagedRolloutStatus
		to      int64
		want    int64
		refused string
	}{
		"while one is on its way, to the stable one":             {statusOf(4, 2, "a", "b", "c", "d"), 0, 2, ""},
		"when it has passed every wave, to the one before":       {statusOf(3, 3, "a", "b", "c"), 0, 2, ""},
		"the one before is the last with other content":          {statusOf(4, 4, "a", "b", "c", "c"), 0, 2, ""},
		"what was undone is undone":                              {statusOf(4, 4, "a", "b", "c", "b"), 0, 3, ""},
		"to the one that is named":                               {statusOf(3, 3, "a", "b", "c"), 1, 1, ""},
		"there is none before the first":                         {statusOf(1, 1, "a"), 0, 0, "there is no older revision"},
		"the newest is no way back":                              {statusOf(3, 3, "a", "b", "c"), 3, 0, "r3 is already the newest"},
		"one that is not kept":                                   {statusOf(3, 3, "", "b", "c"), 1, 0, "r1 is not kept; the kept revisions are 2, 3"},
		"one that never was":                                     {statusOf(3, 3, "a", "b", "c"), 9, 0, "r9 is not kept"},
		"one with the content that is going out":                 {statusOf(3, 2, "c", "b", "c"), 1, 0, "r3 already has the content of r1"},
		"a stable one that is the same is no way back by itself": {statusOf(3, 2, "a", "c", "c"), 0, 1, ""},
		"not to what was rolled back": {
			madeOf(fairleadv1alpha1.CauseRolledBack, 1, statusOf(3, 3, "a", "b", "a")), 0, 0, "r3 already goes back to the content of r1; to go to another revision, name it",
		},
		"not to what is being rolled back": {
			madeOf(fairleadv1alpha1.CauseRolledBack, 1, statusOf(3, 1, "a", "b", "a")), 0, 0, "r3 already goes back to the content of r1; to go to another revision, name it",
		},
		"not to what was aborted": {
			madeOf(fairleadv1alpha1.CauseAborted, 1, statusOf(3, 3, "a", "b", "a")), 0, 0, "r3 already goes back to the content of r1; to go to another revision, name it",
		},
		"not to what is being undone": {
			madeOf(fairleadv1alpha1.CauseUndone, 1, statusOf(3, 1, "a", "b", "a")), 0, 0, "r3 already goes back to the content of r1; to go to another revision, name it",
		},
		"not to what was rolled back before its author mended the template": {
			madeOf(fairleadv1alpha1.CauseEdited, 0, appended(madeOf(fairleadv1alpha1.CauseRolledBack, 2, statusOf(4, 4, "a", "b", "c", "b")), "b")), 0, 1, "",
		},
		"to what was rolled back if that is named":       {madeOf(fairleadv1alpha1.CauseRolledBack, 1, statusOf(3, 3, "a", "b", "a")), 2, 2, ""},
		"to what was stable while it is being undone":    {madeOf(fairleadv1alpha1.CauseUndone, 1, statusOf(3, 2, "a", "b", "a")), 0, 2, ""},
		"to what was undone once that is over":           {madeOf(fairleadv1alpha1.CauseUndone, 1, statusOf(3, 3, "a", "b", "a")), 0, 2, ""},
		"to the stable one from the edit after an abort": {statusOf(4, 3, "a", "b", "a", "d"), 0, 3, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got, err := OlderRevision(c.status, c.to)
			if c.refused != "" {
				g.Expect(err).To(MatchError(ContainSubstring(c.refused)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(c.want))
		})
	}
}

func TestAbort(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	spec := &fairleadv1alpha1.StagedRolloutSpec{}
	for why, status := range map[string]*fairleadv1alpha1.StagedRolloutStatus{
		"no revision is stable yet, so there is nothing to go back to; pause the rollout, or correct the template": statusOf(1, 0, "a"),
		"r2 has passed every wave, so there is nothing to abort; undo goes back to the revision before":            statusOf(2, 2, "a", "b"),
		"r3 already goes back to the content of r1, so there is nothing to abort":                                  madeOf(fairleadv1alpha1.CauseRolledBack, 1, statusOf(3, 3, "a", "b", "a")),
	} {
		_, err := abortIn(spec, status)
		g.Expect(err).To(MatchError(why))
		g.Expect(spec.Target).To(BeNil(), "what is refused changes nothing")
	}
	want := fairleadv1alpha1.RolloutTarget{Revision: 2, Over: 4, Immediately: true}
	g.Expect(abortIn(spec, statusOf(4, 2, "a", "b", "c", "d"))).To(Equal(want))
	g.Expect(spec.Target).To(HaveValue(Equal(want)))
}

func TestWhichWaveAPersonApproves(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	status := statusOf(5, 4, "a", "b", "c", "d", "e")
	status.Waves = []fairleadv1alpha1.WaveStatus{{Name: "canary", PassedAt: &metav1.Time{}}, {Name: "rest"}}
	spec := &fairleadv1alpha1.StagedRolloutSpec{Approvals: []fairleadv1alpha1.WaveApproval{{Revision: 4, Wave: "rest"}, {Revision: 5, Wave: "canary"}}}
	_, err := approveIn(spec, status, "")
	g.Expect(err).To(MatchError("no wave waits for approval; to approve one before it does, name it with --wave, one of canary, rest"))
	_, err = approveIn(spec, status, "half")
	g.Expect(err).To(MatchError(`r5 has no wave "half"; it has canary, rest`))
	g.Expect(spec.Approvals).To(HaveLen(2), "what is refused changes nothing")

	status.Phase = fairleadv1alpha1.RolloutWaiting
	status.Conditions = []metav1.Condition{{Type: fairleadv1alpha1.RolloutConditionProgressing, Reason: fairleadv1alpha1.ReasonRolloutNeedsApproval}}
	for range 2 {
		g.Expect(approveIn(spec, status, "")).To(Equal(fairleadv1alpha1.WaveApproval{Revision: 5, Wave: "rest"}))
		g.Expect(spec.Approvals).To(Equal([]fairleadv1alpha1.WaveApproval{{Revision: 5, Wave: "canary"}, {Revision: 5, Wave: "rest"}}),
			"those of older revisions are dropped")
	}
}

func TestRetry(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	status := statusOf(2, 1, "a", "b")
	status.Clusters = []fairleadv1alpha1.ClusterGroup{
		{State: fairleadv1alpha1.ClusterFailed, Names: []string{"c", "a"}}, {State: fairleadv1alpha1.ClusterSkipped, Names: []string{"b"}},
	}
	spec := &fairleadv1alpha1.StagedRolloutSpec{
		Skip:  []fairleadv1alpha1.ClusterAtRevision{{Revision: 1, Cluster: "c"}, {Revision: 2, Cluster: "b"}},
		Retry: []fairleadv1alpha1.ClusterAtRevision{{Revision: 1, Cluster: "x"}, {Revision: 2, Cluster: "a", Attempt: "before"}},
	}
	now := time.Date(2026, 1, 1, 1, 2, 3, 0, time.UTC)
	g.Expect(retryIn(spec, status, nil, now)).To(Equal([]string{"a", "c"}))
	again := func(name string) fairleadv1alpha1.ClusterAtRevision {
		return fairleadv1alpha1.ClusterAtRevision{Revision: 2, Cluster: name, Attempt: "2026-01-01T01:02:03Z"}
	}
	g.Expect(spec.Retry).To(Equal([]fairleadv1alpha1.ClusterAtRevision{again("a"), again("c")}))
	g.Expect(spec.Skip).To(Equal([]fairleadv1alpha1.ClusterAtRevision{{Revision: 2, Cluster: "b"}}))

	g.Expect(retryIn(spec, status, []string{"b", "b"}, now)).To(Equal([]string{"b"}))
	g.Expect(spec.Skip).To(BeEmpty(), "it is taken in again")
	g.Expect(spec.Retry).To(HaveLen(2), "which is no attempt of its own")

	_, err := retryIn(spec, status, []string{"healthy"}, now)
	g.Expect(err).To(MatchError(`cluster "healthy" has neither failed with r2 nor is it skipped`))
	status.Clusters = []fairleadv1alpha1.ClusterGroup{{State: fairleadv1alpha1.ClusterHealthy, Revision: 2, Names: []string{"a", "c"}}}
	_, err = retryIn(spec, status, nil, now)
	g.Expect(err).To(MatchError("no cluster has failed"))

	// It is halted because of clusters that are healthy by now: retrying continues it.
	status.Conditions = []metav1.Condition{{
		Type: fairleadv1alpha1.RolloutConditionHalted, Status: metav1.ConditionTrue, Reason: fairleadv1alpha1.ReasonRolloutTooManyFailed,
	}}
	spec.Retry = []fairleadv1alpha1.ClusterAtRevision{{Revision: 2, Cluster: "a", Attempt: "of before"}}
	g.Expect(retryIn(spec, status, nil, now)).To(BeEmpty())
	g.Expect(spec.Retry).To(Equal([]fairleadv1alpha1.ClusterAtRevision{again("a")}))
}
