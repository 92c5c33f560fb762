package v1alpha2

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/common/contract"
)

// inMany are so many targets with names of 40 characters.
func inMany(n int) []TargetCluster {
	out := make([]TargetCluster, n)
	for i := range out {
		out[i] = TargetCluster{Name: fmt.Sprintf("a-cluster-with-a-name-of-40-letters-%04d", i), Replicas: int32(i % 3)}
	}
	return out
}

// scattered are so many targets whose names have nothing in common.
func scattered(n int, random *rand.Rand) []TargetCluster {
	out := make([]TargetCluster, n)
	for i := range out {
		out[i].Name = fmt.Sprintf("c%016x%016x%07x", random.Uint64(), random.Uint64(), random.Uint32()>>4)
	}
	return out
}

// size is how long what a binding remembers is.
func size(b *ResourceBinding) int {
	return len(b.Annotations[contract.EvictionsAnnotation]) + len(b.Annotations[contract.EvictionsPackedAnnotation])
}

func TestAnApplicationInThousandsOfClustersLeavesManyAtOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	at := metav1.NewTime(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	targets := inMany(5000)
	var all []Eviction
	for i := range 10 {
		before := targets[i:]
		if i%2 == 1 {
			before = targets[i-1:] // at once with the last one
		}
		if i > 5 {
			before = append(TargetsBefore(before), TargetCluster{Name: fmt.Sprint("new-", i), Replicas: 2})
			before[17].Replicas++
		}
		all = append(all, Eviction{From: targets[i].Name, At: at, Reason: EvictionTaintUntolerated, Before: before})
	}
	b := &ResourceBinding{}
	g.Expect(SetEvictions(b, all)).To(Succeed())
	g.Expect(validation.ValidateAnnotationsSize(b.Annotations)).To(Succeed())
	g.Expect(size(b)).To(BeNumerically("<=", maxEvictionBytes))
	got := EvictionsOf(b)
	g.Expect(got).To(HaveLen(10))
	for i := range got {
		slices.SortFunc(all[i].Before, byName)
		g.Expect(got[i].From).To(Equal(all[i].From))
		g.Expect(slices.EqualFunc(got[i].Before, all[i].Before, func(a, b TargetCluster) bool { return a.Name == b.Name && a.Replicas == b.Replicas })).To(BeTrue())
	}
}

// TestAHubOfBefore holds that a hub which knows one annotation sees nothing under way of which it would take each target for one
// that was not there, and that what it ends and begins meanwhile is known afterwards.
func TestAHubOfBefore(t *testing.T) {
	t.Parallel()
	at := func(minute int) metav1.Time { return metav1.NewTime(time.Date(2026, 5, 1, 12, minute, 0, 0, time.UTC)) }
	over := Eviction{From: "over", At: at(0), To: []string{"x"}, Ended: new(at(1)), How: EvictionReplaced}
	for name, before := range map[string][]TargetCluster{"many": inMany(500), "not known": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			b := &ResourceBinding{}
			for i, cluster := range []string{"stays", "again", "gone"} {
				b.Spec.GracefulEvictionTasks = append(b.Spec.GracefulEvictionTasks, GracefulEvictionTask{FromCluster: cluster, CreationTimestamp: &metav1.Time{Time: at(2 + i).Add(time.Millisecond)}})
			}
			all := []Eviction{over, {From: "stays", At: at(2), Before: before}, {From: "again", At: at(3), Before: before}, {From: "gone", At: at(4), Before: before}}
			g.Expect(SetEvictions(b, all)).To(Succeed())
			g.Expect(EvictionsOf(b)).To(HaveLen(4))
			var old []Eviction
			g.Expect(json.Unmarshal([]byte(b.Annotations[contract.EvictionsAnnotation]), &old)).To(Succeed())
			g.Expect(old).To(HaveLen(1))
			g.Expect(old[0].From).To(Equal("over"))

			b.Spec.GracefulEvictionTasks = b.Spec.GracefulEvictionTasks[:2]
			b.Spec.GracefulEvictionTasks[1].CreationTimestamp = new(at(5))
			data, err := json.Marshal(append(old, Eviction{From: "again", At: at(5), Before: inMany(2)}))
			g.Expect(err).NotTo(HaveOccurred())
			b.Annotations[contract.EvictionsAnnotation] = string(data)
			got := EvictionsOf(b)
			var names []string
			for i := range got {
				names = append(names, got[i].From)
			}
			g.Expect(names).To(Equal([]string{"over", "stays", "gone", "again"}))
			g.Expect(got[1].Before).To(HaveLen(len(before)))
			g.Expect(got[3].Before).To(HaveLen(2))

			for i := range got {
				got[i].Ended = new(at(9))
			}
			g.Expect(SetEvictions(b, got)).To(Succeed())
			g.Expect(b.Annotations).NotTo(HaveKey(contract.EvictionsPackedAnnotation))
			g.Expect(EvictionsOf(b)).To(HaveLen(4))
		})
	}
}

func TestWhatHasNoRoomIsNotKnown(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	random := rand.New(rand.NewPCG(5, 5))
	b := &ResourceBinding{}
	var all []Eviction
	for i := range 10 {
		all = append(all, Eviction{From: fmt.Sprint(i), Before: scattered(1000, random), Message: strings.Repeat("ü", 2000)})
	}
	ended := inMany(5000)
	all[0].Ended, all[0].Before = &metav1.Time{}, nil
	for i := range ended {
		all[0].To = append(all[0].To, ended[i].Name)
	}
	g.Expect(SetEvictions(b, all)).To(Succeed())
	g.Expect(size(b)).To(BeNumerically("<=", maxEvictionBytes))
	got := EvictionsOf(b)
	g.Expect(got).To(HaveLen(10))
	g.Expect(got[0].To).To(HaveLen(maxTo))
	g.Expect(got[1].Before).To(BeNil())
	g.Expect(got[1].Gained(ended)).To(BeEmpty())
	slices.SortFunc(all[9].Before, byName)
	g.Expect(got[9].Before).To(Equal(all[9].Before))
	g.Expect(got[9].Message).To(HaveSuffix("ü..."))
	g.Expect(all[1].Before).To(HaveLen(1000), "what is given stays as it is")

	g.Expect(SetEvictions(b, []Eviction{{From: "a", Before: scattered(10000, random)}})).To(Succeed())
	g.Expect(EvictionsOf(b)).To(Equal([]Eviction{{From: "a"}}))
}

func TestOtherAnnotationsHaveRoom(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(6, 6))
	targets := scattered(3000, random)
	var ended []string
	for i := range 100 {
		ended = append(ended, fmt.Sprintf("%0200d", i))
	}
	tests := map[string]struct {
		others int
		known  bool
	}{"few others": {10 << 10, true}, "a long placement": {200 << 10, false}, "no room at all": {245 << 10, false}}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			b := &ResourceBinding{}
			b.Annotations = map[string]string{contract.EvictionsAnnotation: strings.Repeat("?", 100<<10), contract.AppliedPlacementAnnotation: strings.Repeat("x", tt.others)}
			g.Expect(SetEvictions(b, []Eviction{{From: "o", To: ended, Ended: &metav1.Time{}}, {From: "a", Before: targets}, {From: "b", Before: targets}})).To(Succeed())
			g.Expect(validation.ValidateAnnotationsSize(b.Annotations)).To(Succeed())
			got := EvictionsOf(b)
			g.Expect(got).To(HaveLen(3))
			g.Expect(got[0].To != nil).To(Equal(tt.others < maxAnnotationBytes))
			for _, e := range got[1:] {
				g.Expect(e.Before != nil).To(Equal(tt.known))
			}
		})
	}
}

func TestWhatIsNotShortIsCompressed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &ResourceBinding{}
	for n, most := range map[int]int{100: maxPlainBytes, 500: maxPlainBytes, 5000: 32 << 10} {
		g.Expect(SetEvictions(b, []Eviction{{From: "a", Before: inMany(n)}, {From: "b", Before: inMany(n)}})).To(Succeed())
		g.Expect(size(b)).To(BeNumerically("<=", most), "%d targets", n)
		g.Expect(EvictionsOf(b)[1].Before).To(HaveLen(n))
	}
}

func TestHowEvictionsAreWritten(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &ResourceBinding{}
	write := func(s string) { b.Annotations = map[string]string{contract.EvictionsAnnotation: s} }
	const few = `[{"from":"a","at":null,"reason":"","before":[{"name":"a","replicas":2},{"name":"b"}]}]`
	write(few)
	got := EvictionsOf(b)
	g.Expect(got[0].Before).To(Equal([]TargetCluster{{Name: "a", Replicas: 2}, {Name: "b"}}))
	g.Expect(SetEvictions(b, got)).To(Succeed())
	g.Expect(b.Annotations[contract.EvictionsAnnotation]).To(Equal(few), "it stays as hubs of before wrote it")

	g.Expect(SetEvictions(b, []Eviction{{From: "a", Before: TargetsBefore(nil)}, {From: "b"}})).To(Succeed())
	got = EvictionsOf(b)
	g.Expect(got[0].Before).To(And(BeEmpty(), Not(BeNil())), "it is known that there were none")
	g.Expect(got[0].Gained([]TargetCluster{{Name: "c"}})).To(Equal([]string{"c"}))
	g.Expect(got[1].Before).To(BeNil())

	same := []Eviction{{From: "a", Before: TargetsBefore(nil)}, {From: "b", Before: inMany(3)}, {From: "c"}, {From: "d", Before: inMany(2)}, {From: "e", Before: TargetsBefore(nil)}}
	g.Expect(unpack(pack(same))).To(Equal(same))
	for name, broken := range map[string][]byte{
		"not compressed": []byte("a 1\n"), "cut off": compressed("a 1\n")[:20], "no number": compressed("a\n"), "a number that is none": compressed("a 1\nb 4294967296\n"),
		"far too long": compressed(strings.Repeat("-a\n", maxUnpacked/3+1)),
	} {
		stored := pack(same)
		stored[1].Packed = broken
		got = unpack(stored)
		g.Expect(got[0].Before).NotTo(BeNil(), name)
		g.Expect(got[1].Before).To(BeNil(), name)
		g.Expect(got[3].Before).To(BeNil(), "what is a difference from %s", name)
	}
}

func TestWhoeverWritesEvictionsIsReadWithinLimits(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &ResourceBinding{Spec: ResourceBindingSpec{}}
	b.Annotations = map[string]string{contract.EvictionsPackedAnnotation: "[" + strings.Repeat(`{"from":"a"},`, 99) + `{"from":"a"}]`}
	g.Expect(EvictionsOf(b)).To(HaveLen(maxEvictions))

	half := compressed(strings.Repeat("-a\n", maxUnpacked/6+1))
	got := unpack([]storedEviction{{Packed: half}, {Packed: half}, {Packed: compressed("")}})
	g.Expect(got[0].Before).NotTo(BeNil())
	g.Expect(got[1].Before).To(BeNil(), "all together are too long")
	g.Expect(got[2].Before).To(BeNil())
}
