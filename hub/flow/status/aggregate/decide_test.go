package aggregate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

func now() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func reference() workv1alpha2.ObjectReference {
	return workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
}

func silentReport(cluster string) Report {
	return Report{Cluster: cluster, Work: &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Name: "web", Generation: 1}}}
}

func report(cluster string, applied metav1.ConditionStatus, message string) Report {
	r := silentReport(cluster)
	r.Work.Status.Conditions = []metav1.Condition{{
		Type: workv1alpha1.WorkApplied, Status: applied, Message: message, ObservedGeneration: 1,
	}}
	return r
}

func well(cluster string) Report {
	r := report(cluster, metav1.ConditionTrue, "Manifest has been successfully applied")
	r.Work.Status.ManifestStatuses = []workv1alpha1.ManifestStatus{{
		Identifier: workv1alpha1.ResourceIdentifier{
			Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "web",
		},
		Status: &runtime.RawExtension{Raw: []byte(`{"replicas":1}`)},
		Health: workv1alpha1.Healthy,
	}}
	return r
}

func to(clusters ...string) *workv1alpha2.ResourceBindingSpec {
	spec := &workv1alpha2.ResourceBindingSpec{Resource: reference()}
	for _, c := range clusters {
		spec.Clusters = append(spec.Clusters, workv1alpha2.TargetCluster{Name: c})
	}
	return spec
}

// with returns a report with a change.
func with(r Report, change func(*workv1alpha1.Work)) Report {
	change(r.Work)
	return r
}

func TestItems(t *testing.T) {
	t.Parallel()
	healthy := workv1alpha2.AggregatedStatusItem{
		ClusterName: "a", Applied: true, Health: workv1alpha1.Healthy,
		Status: &runtime.RawExtension{Raw: []byte(`{"replicas":1}`)},
	}
	unknown := workv1alpha2.AggregatedStatusItem{ClusterName: "a", Applied: true, Health: workv1alpha1.Unknown}
	cases := map[string]struct {
		report Report
		want   workv1alpha2.AggregatedStatusItem
	}{
		"a cluster that reported all": {well("a"), healthy},
		"a cluster that has not reported": {
			silentReport("a"), workv1alpha2.AggregatedStatusItem{ClusterName: "a", Health: workv1alpha1.Unknown},
		},
		"a cluster that refused says why, and its old status is dropped": {
			with(well("a"), func(w *workv1alpha1.Work) {
				w.Status.Conditions[0].Status = metav1.ConditionFalse
				w.Status.Conditions[0].Message = "no such namespace"
			}),
			workv1alpha2.AggregatedStatusItem{ClusterName: "a", AppliedMessage: "no such namespace", Health: workv1alpha1.Unknown},
		},
		"an unknown condition counts as not applied": {
			report("a", metav1.ConditionUnknown, "who knows"),
			workv1alpha2.AggregatedStatusItem{ClusterName: "a", AppliedMessage: "who knows", Health: workv1alpha1.Unknown},
		},
		"applied but not observed yet": {report("a", metav1.ConditionTrue, ""), unknown},
		"the status of another name is not taken": {
			with(well("a"), func(w *workv1alpha1.Work) { w.Status.ManifestStatuses[0].Identifier.Name = "other" }), unknown,
		},
		"nor that of another namespace": {
			with(well("a"), func(w *workv1alpha1.Work) { w.Status.ManifestStatuses[0].Identifier.Namespace = "other" }), unknown,
		},
		"nor that of another group": {
			with(well("a"), func(w *workv1alpha1.Work) { w.Status.ManifestStatuses[0].Identifier.Group = "example.com" }), unknown,
		},
		"a cluster that has the object in another version yet is not without a status": {
			with(well("a"), func(w *workv1alpha1.Work) { w.Status.ManifestStatuses[0].Identifier.Version = "v1beta1" }), healthy,
		},
		"nor that of another kind": {
			with(well("a"), func(w *workv1alpha1.Work) { w.Status.ManifestStatuses[0].Identifier.Kind = "StatefulSet" }), unknown,
		},
		"the right one of several is found": {
			with(well("a"), func(w *workv1alpha1.Work) {
				w.Status.ManifestStatuses = append([]workv1alpha1.ManifestStatus{{
					Identifier: workv1alpha1.ResourceIdentifier{Version: "v1", Kind: "ConfigMap", Name: "web"},
				}}, w.Status.ManifestStatuses...)
			}), healthy,
		},
		"no health is unknown": {
			with(well("a"), func(w *workv1alpha1.Work) {
				w.Status.ManifestStatuses[0].Health = ""
				w.Status.ManifestStatuses[0].Status = nil
			}), unknown,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(Items([]Report{tc.report}, reference())).To(BeComparableTo([]workv1alpha2.AggregatedStatusItem{tc.want}))
		})
	}
}

func TestItemsOfTheCoreGroup(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := report("a", metav1.ConditionTrue, "")
	r.Work.Status.ManifestStatuses = []workv1alpha1.ManifestStatus{{
		Identifier: workv1alpha1.ResourceIdentifier{Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "web"},
		Health:     workv1alpha1.Healthy,
	}}
	ref := workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "web"}
	g.Expect(Items([]Report{r}, ref)[0].Health).To(Equal(workv1alpha1.Healthy))
}

func TestItemsAreSortedAndOnePerCluster(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	deleted := with(well("d"), func(w *workv1alpha1.Work) { w.DeletionTimestamp = &metav1.Time{Time: now()} })
	second := with(silentReport("b"), func(w *workv1alpha1.Work) { w.Name = "web-2" })
	reports := []Report{well("c"), second, deleted, well("b"), well("a")}
	for range 2 {
		items := Items(reports, reference())
		names := make([]string, len(items))
		for i, item := range items {
			names[i] = item.ClusterName
			g.Expect(item.Applied).To(BeTrue())
		}
		g.Expect(names).To(Equal([]string{"a", "b", "c"}))
		slices.Reverse(reports)
	}
}

func TestItemsShareNothingWithTheWorks(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := well("a")
	items := Items([]Report{r}, reference())
	copy(items[0].Status.Raw, `{"changed":`)
	g.Expect(string(r.Work.Status.ManifestStatuses[0].Status.Raw)).To(Equal(`{"replicas":1}`))
}

func TestFullyApplied(t *testing.T) {
	t.Parallel()
	isTrue := &metav1.Condition{
		Type: workv1alpha2.BindingFullyApplied, Status: metav1.ConditionTrue, ObservedGeneration: 1,
		Reason: workv1alpha2.ReasonFullyAppliedSuccess, Message: "All works have been successfully applied",
	}
	outdated := with(well("a"), func(w *workv1alpha1.Work) { w.Generation = 2 })
	cases := map[string]struct {
		spec    *workv1alpha2.ResourceBindingSpec
		reports []Report
		before  *metav1.Condition
		want    metav1.ConditionStatus
		message string
		old     bool // the former condition stays
		// unrendered says that the Works do not show the change yet.
		unrendered bool
	}{
		"all clusters have it": {
			spec: to("a", "b"), reports: []Report{well("a"), well("b")},
			want: metav1.ConditionTrue, message: "All works have been successfully applied",
		},
		"health does not matter": {
			spec: to("a"), reports: []Report{report("a", metav1.ConditionTrue, "")},
			want: metav1.ConditionTrue, message: "All works have been successfully applied",
		},
		"a cluster refused": {
			spec: to("a", "b", "c"), reports: []Report{well("a"), report("b", metav1.ConditionFalse, "denied"), well("c")},
			want: metav1.ConditionFalse, message: "Failed in 1 of 3 clusters: b. b says: denied",
		},
		"of several the first speaks": {
			spec:    to("a", "b"),
			reports: []Report{report("b", metav1.ConditionFalse, "late"), report("a", metav1.ConditionFalse, "denied")},
			want:    metav1.ConditionFalse, message: "Failed in 2 of 2 clusters: a, b. a says: denied",
		},
		"a cluster has no Work yet": {
			spec: to("a", "b"), reports: []Report{well("a")},
			want: metav1.ConditionFalse, message: "Waiting for b to report.",
		},
		"a cluster has not reported": {
			spec: to("a", "b"), reports: []Report{well("a"), silentReport("b")},
			want: metav1.ConditionFalse, message: "Waiting for b to report.",
		},
		"a refusal and a wait": {
			spec: to("a", "b"), reports: []Report{report("a", metav1.ConditionFalse, "denied")},
			want: metav1.ConditionFalse, message: "Failed in 1 of 2 clusters: a. a says: denied Waiting for b to report.",
		},
		"a cluster is suspended": {
			spec: to("a"), reports: []Report{with(silentReport("a"), func(w *workv1alpha1.Work) { w.Spec.SuspendDispatching = new(true) })},
			want: metav1.ConditionFalse, message: "Delivery is suspended for a.",
		},
		"a cluster that was left still has it": {
			spec: to("a"), reports: []Report{well("a"), well("b")},
			want: metav1.ConditionFalse, message: "Still in b, to be removed from there.",
		},
		"a cluster that was left and refuses does not count as failed": {
			spec: to("a"), reports: []Report{well("a"), report("b", metav1.ConditionFalse, "denied")},
			want: metav1.ConditionFalse, message: "Still in b, to be removed from there.",
		},
		"no cluster is chosen": {
			spec: to(), want: metav1.ConditionFalse, before: isTrue,
			message: "No cluster is chosen; see condition Scheduled.",
		},
		"a report on an earlier change does not take back what was true": {
			spec: to("a"), reports: []Report{outdated}, before: isTrue,
			want: metav1.ConditionTrue, message: "All works have been successfully applied", old: true,
		},
		"nor does a change that the Works do not show yet": {
			spec: to("a"), reports: []Report{well("a")}, before: isTrue, unrendered: true,
			want: metav1.ConditionTrue, message: "All works have been successfully applied", old: true,
		},
		"an outdated report does not make anything true": {
			spec: to("a"), reports: []Report{outdated},
			want: metav1.ConditionFalse, message: "Waiting for a to report on the latest change.",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			in := Input{Generation: 7, Spec: tc.spec, Status: &workv1alpha2.ResourceBindingStatus{}, Reports: tc.reports, Unrendered: tc.unrendered, Now: now()}
			in.Status.LastScheduledTime = &metav1.Time{Time: now().Add(-time.Hour)}
			// A former status rules out Early.
			in.Status.AggregatedStatus = []workv1alpha2.AggregatedStatusItem{{ClusterName: "z"}}
			if tc.before != nil {
				in.Status.Conditions = []metav1.Condition{*tc.before}
			}
			out := Decide(in)
			g.Expect(out.FullyApplied.Status).To(Equal(tc.want))
			g.Expect(out.FullyApplied.Message).To(Equal(tc.message))
			reason := workv1alpha2.ReasonFullyAppliedFailed
			if tc.want == metav1.ConditionTrue {
				reason = workv1alpha2.ReasonFullyAppliedSuccess
			}
			g.Expect(out.FullyApplied.Reason).To(Equal(reason))
			if tc.old {
				g.Expect(out.FullyApplied).To(Equal(*tc.before))
			} else {
				g.Expect(out.FullyApplied.ObservedGeneration).To(Equal(int64(7)))
			}
		})
	}
}

func TestAReportWithoutAGenerationIsBelieved(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := with(well("a"), func(w *workv1alpha1.Work) {
		w.Generation = 5
		w.Status.Conditions[0].ObservedGeneration = 0
	})
	out := Decide(Input{Spec: to("a"), Status: &workv1alpha2.ResourceBindingStatus{}, Reports: []Report{r}, Now: now()})
	g.Expect(out.FullyApplied.Status).To(Equal(metav1.ConditionTrue))
}

func TestMessagesAreBounded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var clusters []string
	var reports []Report
	for i := range 1000 {
		name := fmt.Sprintf("cluster-%04d-%s", i, strings.Repeat("x", 30))
		clusters = append(clusters, name)
		reports = append(reports, report(name, metav1.ConditionFalse, "x"+strings.Repeat("€", 10000)))
	}
	out := Decide(Input{Spec: to(clusters...), Status: &workv1alpha2.ResourceBindingStatus{}, Reports: reports, Now: now()})
	g.Expect(len(out.FullyApplied.Message)).To(BeNumerically("<", 2048))
	g.Expect(utf8.ValidString(out.FullyApplied.Message)).To(BeTrue())
	g.Expect(out.FullyApplied.Message).To(ContainSubstring("and 995 more"))
}

func TestDecideIsEarlyWhileNobodyHasReported(t *testing.T) {
	t.Parallel()
	scheduled := func(ago time.Duration) *workv1alpha2.ResourceBindingStatus {
		return &workv1alpha2.ResourceBindingStatus{LastScheduledTime: &metav1.Time{Time: now().Add(-ago)}}
	}
	cases := map[string]struct {
		spec      *workv1alpha2.ResourceBindingSpec
		status    *workv1alpha2.ResourceBindingStatus
		reports   []Report
		wantEarly bool
		wantWait  time.Duration
	}{
		"not scheduled": {to(), &workv1alpha2.ResourceBindingStatus{}, nil, true, ReportGrace - 5*time.Second},
		"chosen, but the scheduler's status is not here yet": {
			to("a"), &workv1alpha2.ResourceBindingStatus{}, []Report{silentReport("a")}, true, ReportGrace - 5*time.Second,
		},
		"just scheduled":                   {to("a"), scheduled(time.Second), nil, true, ReportGrace - time.Second},
		"Works are there, nobody reported": {to("a"), scheduled(0), []Report{silentReport("a")}, true, ReportGrace},
		"one reported":                     {to("a", "b"), scheduled(0), []Report{well("a"), silentReport("b")}, false, 0},
		"nobody reported for too long":     {to("a"), scheduled(ReportGrace), []Report{silentReport("a")}, false, 0},
		"scheduled to no cluster":          {to(), scheduled(time.Hour), nil, false, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			out := Decide(Input{Created: now().Add(-5 * time.Second), Spec: tc.spec, Status: tc.status, Reports: tc.reports, Now: now()})
			g.Expect(out.Early).To(Equal(tc.wantEarly))
			g.Expect(out.Wait).To(Equal(tc.wantWait))
			g.Expect(out.Changed).To(Equal(!tc.wantEarly))
		})
	}
}

func TestDecideTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := Input{
		Generation: 1, Spec: to("a", "b"), Status: &workv1alpha2.ResourceBindingStatus{},
		Reports: []Report{well("a"), report("b", metav1.ConditionFalse, "denied")}, Now: now(),
	}
	first := Decide(in)
	g.Expect(first.Changed).To(BeTrue())
	g.Expect(first.Refused).To(HaveLen(1))
	g.Expect(first.Refused[0].ClusterName).To(Equal("b"))

	in.Status.AggregatedStatus = first.Items
	in.Status.Conditions = []metav1.Condition{first.FullyApplied}
	in.Now = now().Add(time.Hour)
	slices.Reverse(in.Reports)
	second := Decide(in)
	g.Expect(second.Changed).To(BeFalse())
	g.Expect(second.Refused).To(BeEmpty())

	in.Generation = 2
	g.Expect(Decide(in).Changed).To(BeTrue(), "the condition says which generation it is about")
}

func TestRefused(t *testing.T) {
	t.Parallel()
	item := func(applied bool, message string) []workv1alpha2.AggregatedStatusItem {
		return []workv1alpha2.AggregatedStatusItem{{ClusterName: "a", Applied: applied, AppliedMessage: message}}
	}
	cases := map[string]struct {
		before, after []workv1alpha2.AggregatedStatusItem
		want          bool
	}{
		"the first report is a refusal":          {nil, item(false, "denied"), true},
		"it was well before":                     {item(true, ""), item(false, "denied"), true},
		"it had not reported before":             {item(false, ""), item(false, "denied"), true},
		"it refuses for another reason":          {item(false, "late"), item(false, "denied"), true},
		"it said so before":                      {item(false, "denied"), item(false, "denied"), false},
		"it is well now":                         {item(false, "denied"), item(true, ""), false},
		"it has not reported":                    {item(true, ""), item(false, ""), false},
		"a cluster that is gone refuses nothing": {item(false, "denied"), nil, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(len(Refused(tc.before, tc.after)) > 0).To(Equal(tc.want))
		})
	}
}

func TestOnlyTheFirstWordIsPartial(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := Input{
		Spec: to("a", "b"), Status: &workv1alpha2.ResourceBindingStatus{},
		Reports: []Report{well("a"), silentReport("b")}, Now: now(),
	}
	first := Decide(in)
	g.Expect(first.Partial).To(BeTrue(), "b has not reported")

	refusing := in
	refusing.Reports = []Report{well("a"), report("b", metav1.ConditionFalse, "denied")}
	g.Expect(Decide(refusing).Partial).To(BeFalse(), "a refusal is a report")

	in.Status = &workv1alpha2.ResourceBindingStatus{
		AggregatedStatus: first.Items, Conditions: []metav1.Condition{first.FullyApplied},
	}
	g.Expect(Decide(in).Partial).To(BeFalse(), "something was said already")
}
