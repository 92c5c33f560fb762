package judge

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/revision"
)

func TestHowAClusterFares(t *testing.T) {
	t.Parallel()
	const (
		flying, healthy, failed = fairleadv1alpha1.ClusterInFlight, fairleadv1alpha1.ClusterHealthy, fairleadv1alpha1.ClusterFailed
		lost, aside             = fairleadv1alpha1.ClusterLost, fairleadv1alpha1.ClusterSetAside
		silent, refused         = fairleadv1alpha1.ClusterReasonSilent, fairleadv1alpha1.ClusterReasonRefused
		deadline, unhealthy     = fairleadv1alpha1.ClusterReasonDeadline, fairleadv1alpha1.ClusterReasonUnhealthy
		suspended, unchanged    = fairleadv1alpha1.ClusterReasonSuspended, fairleadv1alpha1.ClusterReasonUnchanged
	)
	now := time.Date(2026, 5, 1, 21, 0, 0, 0, time.UTC)
	r4, r5 := revision.ID{Number: 4, Hash: "d"}, revision.ID{Number: 5, Hash: "e"}
	sent, older := Work{Exists: true, Revision: r5}, Work{Exists: true, Revision: revision.ID{Number: 3, Hash: "e"}}
	with := func(r Report) Work { return Work{Exists: true, Revision: r5, Report: r} }
	well, ill := Report{Current: true, Applied: true, Health: Healthy}, Report{Current: true, Applied: true, Health: Unhealthy}
	elapsed := func(d time.Duration) Progress { return Progress{Revision: 5, Elapsed: d, At: now.Add(-time.Minute)} }
	for name, c := range map[string]struct {
		in         Input
		wantState  fairleadv1alpha1.ClusterState
		wantReason string
		wantAgain  time.Duration
	}{
		"one that is being sent it is in flight":                             {Input{Work: Work{Exists: true, Revision: r4, Report: well}}, flying, "", 10 * time.Minute},
		"one that was just sent it is in flight":                             {Input{Work: sent}, flying, "", 10 * time.Minute},
		"one that reports health is healthy":                                 {Input{Work: with(well)}, healthy, "", 0},
		"a report of another generation says nothing":                        {Input{Work: with(Report{Applied: true, Health: Healthy})}, flying, "", 10 * time.Minute},
		"unknown health is waited for":                                       {Input{Work: with(Report{Current: true, Applied: true})}, flying, "", 10 * time.Minute},
		"what is healthy but not applied is waited for":                      {Input{Work: with(Report{Current: true, Health: Healthy})}, flying, "", 10 * time.Minute},
		"a refusal is a failure at once":                                     {Input{Work: with(Report{Current: true, Refused: true})}, failed, refused, 0},
		"a refusal of what was there before is none":                         {Input{Work: with(Report{Refused: true})}, flying, "", 10 * time.Minute},
		"after another try a refusal is not believed before the agent tried": {Input{Work: with(Report{Current: true, Refused: true}), Progress: Progress{Revision: 5, RetriedAt: now.Add(-61 * time.Second)}}, flying, "", 59 * time.Second},
		"and is after that":                                                  {Input{Work: with(Report{Current: true, Refused: true}), Progress: Progress{Revision: 5, RetriedAt: now.Add(-2 * time.Minute)}}, failed, refused, 0},
		"too long is a failure":                                              {Input{Work: sent, Progress: elapsed(9 * time.Minute)}, failed, deadline, 0},
		"nearly too long is none":                                            {Input{Work: sent, Progress: elapsed(8 * time.Minute)}, flying, "", time.Minute},
		"time spent with another revision does not count":                    {Input{Work: sent, Progress: Progress{Revision: 4, Elapsed: time.Hour, At: now}}, flying, "", 10 * time.Minute},
		"time does not run while the hub suspects itself":                    {Input{Work: sent, Progress: elapsed(9 * time.Minute), Unconfirmed: true}, flying, "", time.Minute},
		"a failure stays one":                                                {Input{Work: with(ill), Before: failed, Reason: deadline}, failed, deadline, 0},
		"until it is healthy":                                                {Input{Work: with(well), Before: failed, Reason: deadline}, healthy, "", 0},
		"whoever was healthy may be ill for a minute":                        {Input{Work: with(ill), Before: healthy}, flying, unhealthy, time.Minute},
		"and not for longer":                                                 {Input{Work: with(ill), Before: flying, Reason: unhealthy, Progress: Progress{Revision: 5, UnhealthySince: now.Add(-time.Minute)}}, failed, unhealthy, 0},
		"whoever was healthy is so while a scaled Work is not reported":      {Input{Work: with(Report{Applied: true, Health: Unhealthy}), Before: healthy}, healthy, "", 10 * time.Minute},
		"but not for ever":                                                   {Input{Work: with(Report{}), Before: healthy, Progress: elapsed(9 * time.Minute)}, failed, deadline, 0},
		"silence after sending is a loss":                                    {Input{Work: sent, Silent: true}, lost, silent, 0},
		"also of one that was healthy, in a wave that is going on":           {Input{Work: with(well), Before: healthy, Silent: true}, lost, silent, 0},
		"but not in a wave that has passed":                                  {Input{Work: with(well), Before: healthy, Silent: true, Proven: true}, healthy, "", 0},
		"silence that is not believed is none":                               {Input{Work: sent, Before: flying, Silent: true, Unconfirmed: true}, flying, "", 0},
		"silence before sending takes it back":                               {Input{Work: Work{Exists: true, Revision: r4}, Before: flying, Silent: true}, aside, silent, 0},
		"a lost one that is heard is lost until it is healthy":               {Input{Work: sent, Before: lost, Reason: silent}, lost, "", 10 * time.Minute},
		"and is forgiven then":                                               {Input{Work: with(well), Before: lost, Reason: silent}, healthy, "", 0},
		"and fails if that takes too long":                                   {Input{Work: sent, Before: lost, Progress: elapsed(9 * time.Minute)}, failed, deadline, 0},
		"a failure that falls silent is one":                                 {Input{Work: sent, Before: failed, Reason: refused, Silent: true}, failed, refused, 0},
		"whoever is suspended is set aside":                                  {Input{Work: sent, Suspended: true}, aside, suspended, 0},
		"the stable content by another number is done":                       {Input{Work: older, Stable: revision.ID{Number: 4, Hash: "e"}}, healthy, unchanged, 0},
		"but not if that is what is sent":                                    {Input{Work: older, Stable: r5}, flying, "", 10 * time.Minute},
		"the same content that was not stable is judged":                     {Input{Work: older, Stable: revision.ID{Number: 2, Hash: "b"}}, flying, "", 10 * time.Minute},
		"it is healthy if it is reported so":                                 {Input{Work: Work{Exists: true, Revision: older.Revision, Report: well}, Stable: revision.ID{Number: 2, Hash: "b"}}, healthy, "", 0},
		"and what was lost with it is lost":                                  {Input{Work: older, Stable: revision.ID{Number: 2, Hash: "b"}, Silent: true}, lost, silent, 0},
		"what is older than the stable one proves nothing, nor does silence": {Input{Work: older, Stable: r4, Silent: true}, aside, silent, 0},
		"unless it was healthy":                                              {Input{Work: older, Stable: r4, Silent: true, Before: healthy}, lost, silent, 0},
		"what a revision does not change is done, heard from or not":         {Input{Work: Work{Exists: true, Revision: r5, Unchanged: true}, Silent: true}, healthy, unchanged, 0},
		"the same number with another content is not what was sent":          {Input{Work: Work{Exists: true, Revision: revision.ID{Number: 5, Hash: "x"}, Report: well}}, flying, "", 10 * time.Minute},
		"health without a Work is none":                                      {Input{Work: Work{Report: well}}, flying, "", 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			c.in.Now, c.in.Wanted, c.in.Deadline = now, r5, 10*time.Minute
			got := Decide(c.in)
			g.Expect(got.State).To(Equal(c.wantState))
			g.Expect(got.Reason).To(Equal(c.wantReason))
			g.Expect(got.Again).To(Equal(c.wantAgain))
		})
	}
}

// A cluster that comes and goes uses its time up only while it is heard from.
func TestTimeRunsOnlyWhileAClusterIsHeardFrom(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := time.Date(2026, 5, 1, 21, 0, 0, 0, time.UTC)
	in := Input{Wanted: revision.ID{Number: 1, Hash: "a"}, Work: Work{Exists: true, Revision: revision.ID{Number: 1, Hash: "a"}}, Deadline: 10 * time.Minute}
	var v Verdict
	for range 9 {
		for _, silent := range []bool{false, true} {
			in.Now, in.Silent = now, false
			v = Decide(in) // It is heard from up to now.
			in.Before, in.Reason, in.Progress = v.State, v.Reason, v.Progress
			in.Silent = silent
			v = Decide(in)
			in.Before, in.Reason, in.Progress = v.State, v.Reason, v.Progress
			now = now.Add(time.Minute)
		}
	}
	g.Expect(v.State).NotTo(Equal(fairleadv1alpha1.ClusterFailed), "it was heard from for 9 of 18 minutes")
	g.Expect(v.Progress.Elapsed).To(Equal(9 * time.Minute))
}

// A cluster that was healthy and is not has a minute. While nothing is heard of it, which is not believed, that stands still.
func TestTheMinuteOfAnUnhealthyClusterStandsStillWhileItIsSilent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	start := time.Date(2026, 5, 1, 21, 0, 0, 0, time.UTC)
	in := Input{
		Wanted: revision.ID{Number: 1, Hash: "a"}, Deadline: 10 * time.Minute, Before: fairleadv1alpha1.ClusterHealthy,
		Work: Work{Exists: true, Revision: revision.ID{Number: 1, Hash: "a"}, Report: Report{Current: true, Applied: true, Health: Unhealthy}},
	}
	look := func(at int, silent bool) Verdict {
		in.Now, in.Silent, in.Unconfirmed = start.Add(time.Duration(at)*time.Second), silent, silent
		v := Decide(in)
		in.Before, in.Reason, in.Progress = v.State, v.Reason, v.Progress
		return v
	}
	look(0, false)
	for _, at := range []int{50, 51, 52} {
		g.Expect(look(at, true).State).To(Equal(fairleadv1alpha1.ClusterInFlight))
	}
	v := look(53, false)
	g.Expect(v.State).To(Equal(fairleadv1alpha1.ClusterInFlight))
	g.Expect(v.Again).To(Equal(10*time.Second), "three of 53 seconds do not count")
	g.Expect(look(62, false).State).To(Equal(fairleadv1alpha1.ClusterInFlight))
	v = look(63, false)
	g.Expect(v.State).To(Equal(fairleadv1alpha1.ClusterFailed))
	g.Expect(v.Reason).To(Equal(fairleadv1alpha1.ClusterReasonUnhealthy))
}
