package v1alpha2

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/common/contract"
)

func TestABindingRemembersTheNewestEvictions(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &ResourceBinding{}
	g.Expect(EvictionsOf(b)).To(BeEmpty())
	at := metav1.NewTime(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	var all []Eviction
	for i := range 12 {
		all = append(all, Eviction{From: fmt.Sprint(i), At: metav1.NewTime(at.Add(time.Duration(i) * time.Second)), Reason: "TaintUntolerated"})
	}
	g.Expect(SetEvictions(b, all)).To(Succeed())
	got := EvictionsOf(b)
	g.Expect(got).To(HaveLen(10))
	g.Expect(got[0].From).To(Equal("2"))
	g.Expect(got[9].At.Equal(&all[11].At)).To(BeTrue())
	for i := range all[1:] {
		all[i+1].Ended = &at
	}
	g.Expect(SetEvictions(b, all)).To(Succeed())
	got = EvictionsOf(b)
	g.Expect(got).To(HaveLen(10))
	g.Expect([]string{got[0].From, got[1].From}).To(Equal([]string{"0", "3"}), "what is under way is not forgotten")
	b.Annotations[contract.EvictionsAnnotation], b.Annotations[contract.EvictionsPackedAnnotation] = "?", "?"
	g.Expect(EvictionsOf(b)).To(BeEmpty())
}

func TestWhereAnApplicationWasGivenUp(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	given := func(from, reason, template string, ago time.Duration, how string) Eviction {
		return Eviction{From: from, Reason: reason, Template: template, At: metav1.NewTime(now.Add(-ago)), How: how}
	}
	NewWithT(t).Expect(FailedIn([]Eviction{
		given("edge-4", EvictionApplicationFailure, "7", 0, ""),
		given("edge-1", EvictionApplicationFailure, "7", 59*time.Minute, "Replaced"),
		given("edge-1", EvictionApplicationFailure, "7", 2*time.Minute, "Replaced"),
		given("lost", EvictionTaintUntolerated, "7", 0, ""),
		given("other-template", EvictionApplicationFailure, "6", 0, ""),
		given("long-ago", EvictionApplicationFailure, "7", time.Hour, ""),
		given("well-again", EvictionApplicationFailure, "7", 0, EvictionReturned),
	}, "7", now)).To(Equal([]string{"edge-1", "edge-4"}))
}

func TestWhoGained(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := Eviction{Before: []TargetCluster{{Name: "a", Replicas: 2}, {Name: "b", Replicas: 2}, {Name: "c", Replicas: 1}}}
	g.Expect(e.Gained([]TargetCluster{{Name: "d"}, {Name: "c", Replicas: 1}, {Name: "b", Replicas: 3}})).To(Equal([]string{"b", "d"}))
	g.Expect(e.Gained(nil)).To(BeEmpty())
}
