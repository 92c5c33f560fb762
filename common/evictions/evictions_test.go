package evictions

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

func TestABindingRemembersTheNewestEvictions(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &workv1alpha2.ResourceBinding{}
	g.Expect(Of(b)).To(BeEmpty())
	at := metav1.NewTime(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	var all []workv1alpha2.Eviction
	for i := range 12 {
		all = append(all, workv1alpha2.Eviction{From: fmt.Sprint(i), At: metav1.NewTime(at.Add(time.Duration(i) * time.Second)), Reason: "TaintUntolerated"})
	}
	g.Expect(Set(b, all)).To(Succeed())
	got := Of(b)
	g.Expect(got).To(HaveLen(10))
	g.Expect(got[0].From).To(Equal("2"))
	g.Expect(got[9].At.Equal(&all[11].At)).To(BeTrue())
	for i := range all[1:] {
		all[i+1].Ended = &at
	}
	g.Expect(Set(b, all)).To(Succeed())
	got = Of(b)
	g.Expect(got).To(HaveLen(10))
	g.Expect([]string{got[0].From, got[1].From}).To(Equal([]string{"0", "3"}), "what is under way is not forgotten")
	b.Annotations[contract.EvictionsAnnotation], b.Annotations[contract.EvictionsPackedAnnotation] = "?", "?"
	g.Expect(Of(b)).To(BeEmpty())
}

func TestAnApplicationFailedWhereThisVersionWasNotHealthyOfLate(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	given := func(from, reason, template string, ago time.Duration, how string) workv1alpha2.Eviction {
		return workv1alpha2.Eviction{From: from, Reason: reason, Template: template, At: metav1.NewTime(now.Add(-ago)), How: how}
	}
	NewWithT(t).Expect(FailedIn([]workv1alpha2.Eviction{
		given("edge-4", workv1alpha2.EvictionApplicationFailure, "7", 0, ""),
		given("edge-1", workv1alpha2.EvictionApplicationFailure, "7", 59*time.Minute, "Replaced"),
		given("edge-1", workv1alpha2.EvictionApplicationFailure, "7", 2*time.Minute, "Replaced"),
		given("lost", workv1alpha2.EvictionTaintUntolerated, "7", 0, ""),
		given("other-template", workv1alpha2.EvictionApplicationFailure, "6", 0, ""),
		given("long-ago", workv1alpha2.EvictionApplicationFailure, "7", time.Hour, ""),
		given("well-again", workv1alpha2.EvictionApplicationFailure, "7", 0, workv1alpha2.EvictionReturned),
	}, "7", now)).To(Equal([]string{"edge-1", "edge-4"}))
}

func TestAClusterGainsByMoreReplicasOrAsANewTarget(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := workv1alpha2.Eviction{Before: []workv1alpha2.TargetCluster{{Name: "a", Replicas: 2}, {Name: "b", Replicas: 2}, {Name: "c", Replicas: 1}}}
	g.Expect(Gained(&e, []workv1alpha2.TargetCluster{{Name: "d"}, {Name: "c", Replicas: 1}, {Name: "b", Replicas: 3}})).To(Equal([]string{"b", "d"}))
	g.Expect(Gained(&e, nil)).To(BeEmpty())
}
