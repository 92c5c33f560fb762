package evictions

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

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

// inMany returns n targets with names of 40 characters.
func inMany(n int) []workv1alpha2.TargetCluster {
	out := make([]workv1alpha2.TargetCluster, n)
	for i := range out {
		out[i] = workv1alpha2.TargetCluster{Name: fmt.Sprintf("a-cluster-with-a-name-of-40-letters-%04d", i), Replicas: int32(i % 3)}
	}
	return out
}

// scattered returns n targets whose names have nothing in common.
func scattered(n int, random *rand.Rand) []workv1alpha2.TargetCluster {
	out := make([]workv1alpha2.TargetCluster, n)
	for i := range out {
		out[i].Name = fmt.Sprintf("c%016x%016x%07x", random.Uint64(), random.Uint64(), random.Uint32()>>4)
	}
	return out
}

// size returns the length of the annotations with the evictions that a binding remembers.
func size(b *workv1alpha2.ResourceBinding) int {
	return len(b.Annotations[contract.EvictionsAnnotation]) + len(b.Annotations[contract.EvictionsPackedAnnotation])
}

func TestAnApplicationInThousandsOfClustersLeavesManyAtOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	at := metav1.NewTime(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	targets := inMany(5000)
	var all []workv1alpha2.Eviction
	for i := range 10 {
		before := targets[i:]
		if i%2 == 1 {
			before = targets[i-1:] // at once with the last one
		}
		if i > 5 {
			before = append(TargetsBefore(before), workv1alpha2.TargetCluster{Name: fmt.Sprint("new-", i), Replicas: 2})
			before[17].Replicas++
		}
		all = append(all, workv1alpha2.Eviction{From: targets[i].Name, At: at, Reason: workv1alpha2.EvictionTaintUntolerated, Before: before})
	}
	b := &workv1alpha2.ResourceBinding{}
	g.Expect(Set(b, all)).To(Succeed())
	g.Expect(validation.ValidateAnnotationsSize(b.Annotations)).To(Succeed())
	g.Expect(size(b)).To(BeNumerically("<=", contract.MaxEvictions))
	got := Of(b)
	g.Expect(got).To(HaveLen(10))
	for i := range got {
		slices.SortFunc(all[i].Before, byName)
		g.Expect(got[i].From).To(Equal(all[i].From))
		g.Expect(slices.EqualFunc(got[i].Before, all[i].Before, func(a, b workv1alpha2.TargetCluster) bool { return a.Name == b.Name && a.Replicas == b.Replicas })).To(BeTrue())
	}
}

// TestAHubOfBefore covers an older hub that knows only one of the annotations. It must not see an eviction in
// progress, for which it would take every target to be a new one; and evictions that it ends or begins must be
// recognized afterwards.
func TestAHubOfBefore(t *testing.T) {
	t.Parallel()
	at := func(minute int) metav1.Time { return metav1.NewTime(time.Date(2026, 5, 1, 12, minute, 0, 0, time.UTC)) }
	over := workv1alpha2.Eviction{From: "over", At: at(0), To: []string{"x"}, Ended: new(at(1)), How: workv1alpha2.EvictionReplaced}
	for name, before := range map[string][]workv1alpha2.TargetCluster{"many": inMany(500), "not known": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			b := &workv1alpha2.ResourceBinding{}
			for i, cluster := range []string{"stays", "again", "gone"} {
				b.Spec.GracefulEvictionTasks = append(b.Spec.GracefulEvictionTasks, workv1alpha2.GracefulEvictionTask{FromCluster: cluster, CreationTimestamp: &metav1.Time{Time: at(2 + i).Add(time.Millisecond)}})
			}
			all := []workv1alpha2.Eviction{over, {From: "stays", At: at(2), Before: before}, {From: "again", At: at(3), Before: before}, {From: "gone", At: at(4), Before: before}}
			g.Expect(Set(b, all)).To(Succeed())
			g.Expect(Of(b)).To(HaveLen(4))
			var old []workv1alpha2.Eviction
			g.Expect(json.Unmarshal([]byte(b.Annotations[contract.EvictionsAnnotation]), &old)).To(Succeed())
			g.Expect(old).To(HaveLen(1))
			g.Expect(old[0].From).To(Equal("over"))

			b.Spec.GracefulEvictionTasks = b.Spec.GracefulEvictionTasks[:2]
			b.Spec.GracefulEvictionTasks[1].CreationTimestamp = new(at(5))
			data, err := json.Marshal(append(old, workv1alpha2.Eviction{From: "again", At: at(5), Before: inMany(2)}))
			g.Expect(err).NotTo(HaveOccurred())
			b.Annotations[contract.EvictionsAnnotation] = string(data)
			got := Of(b)
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
			g.Expect(Set(b, got)).To(Succeed())
			g.Expect(b.Annotations).NotTo(HaveKey(contract.EvictionsPackedAnnotation))
			g.Expect(Of(b)).To(HaveLen(4))
		})
	}
}

func TestWhatHasNoRoomIsNotKnown(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	random := rand.New(rand.NewPCG(5, 5))
	b := &workv1alpha2.ResourceBinding{}
	var all []workv1alpha2.Eviction
	for i := range 10 {
		all = append(all, workv1alpha2.Eviction{From: fmt.Sprint(i), Before: scattered(1000, random), Message: strings.Repeat("ü", 2000)})
	}
	ended := inMany(5000)
	all[0].Ended, all[0].Before = &metav1.Time{}, nil
	for i := range ended {
		all[0].To = append(all[0].To, ended[i].Name)
	}
	g.Expect(Set(b, all)).To(Succeed())
	g.Expect(size(b)).To(BeNumerically("<=", contract.MaxEvictions))
	got := Of(b)
	g.Expect(got).To(HaveLen(10))
	g.Expect(got[0].To).To(HaveLen(maxTo))
	g.Expect(got[1].Before).To(BeNil())
	g.Expect(Gained(&got[1], ended)).To(BeEmpty())
	slices.SortFunc(all[9].Before, byName)
	g.Expect(got[9].Before).To(Equal(all[9].Before))
	g.Expect(got[9].Message).To(HaveSuffix("ü..."))
	g.Expect(all[1].Before).To(HaveLen(1000), "what is given stays as it is")

	g.Expect(Set(b, []workv1alpha2.Eviction{{From: "a", Before: scattered(10000, random)}})).To(Succeed())
	g.Expect(Of(b)).To(Equal([]workv1alpha2.Eviction{{From: "a"}}))
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
			b := &workv1alpha2.ResourceBinding{}
			b.Annotations = map[string]string{contract.EvictionsAnnotation: strings.Repeat("?", 100<<10), contract.AppliedPlacementAnnotation: strings.Repeat("x", tt.others)}
			g.Expect(Set(b, []workv1alpha2.Eviction{{From: "o", To: ended, Ended: &metav1.Time{}}, {From: "a", Before: targets}, {From: "b", Before: targets}})).To(Succeed())
			g.Expect(validation.ValidateAnnotationsSize(b.Annotations)).To(Succeed())
			got := Of(b)
			g.Expect(got).To(HaveLen(3))
			g.Expect(got[0].To != nil).To(Equal(tt.others < maxAnnotationBytes))
			for _, e := range got[1:] {
				g.Expect(e.Before != nil).To(Equal(tt.known))
			}
		})
	}
}

// TestThatAnApplicationLeavesIsWrittenInAnyCase covers the limit on annotations: the API server rejects the whole
// write if they are too long together, and a tenant decides the length of the others.
func TestThatAnApplicationLeavesIsWrittenInAnyCase(t *testing.T) {
	t.Parallel()
	key := len(contract.AppliedPlacementAnnotation)
	random := rand.New(rand.NewPCG(7, 7))
	long := func(name string) string { return name + strings.Repeat("-", 40) }
	all := []workv1alpha2.Eviction{{From: long("oldest"), Ended: &metav1.Time{}}, {From: long("old"), Before: scattered(10, random)}, {From: long("new"), Before: scattered(10, random)}}
	tests := map[string]struct {
		free int
		want []string
	}{
		"there is room":                   {free: 1000, want: []string{"oldest", "old", "new"}},
		"not for what is over":            {free: 240, want: []string{"old", "new"}},
		"only for the newest":             {free: 150, want: []string{"new"}},
		"for nothing":                     {free: 100},
		"not even for that it is nothing": {free: 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			b := &workv1alpha2.ResourceBinding{}
			b.Annotations = map[string]string{
				contract.AppliedPlacementAnnotation: strings.Repeat("x", contract.MaxAnnotations-key-tt.free),
			}
			g.Expect(Set(b, all)).To(Succeed())
			g.Expect(validation.ValidateAnnotationsSize(b.Annotations)).To(Succeed())
			var got []string
			for _, e := range Of(b) {
				got = append(got, strings.TrimRight(e.From, "-"))
			}
			g.Expect(got).To(Equal(tt.want))
		})
	}
}

func TestWhatIsNotShortIsCompressed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &workv1alpha2.ResourceBinding{}
	for n, most := range map[int]int{100: maxPlainBytes, 500: maxPlainBytes, 5000: 32 << 10} {
		g.Expect(Set(b, []workv1alpha2.Eviction{{From: "a", Before: inMany(n)}, {From: "b", Before: inMany(n)}})).To(Succeed())
		g.Expect(size(b)).To(BeNumerically("<=", most), "%d targets", n)
		g.Expect(Of(b)[1].Before).To(HaveLen(n))
	}
}

func TestEvictionsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &workv1alpha2.ResourceBinding{}
	write := func(s string) { b.Annotations = map[string]string{contract.EvictionsAnnotation: s} }
	const few = `[{"from":"a","at":null,"reason":"","before":[{"name":"a","replicas":2},{"name":"b"}]}]`
	write(few)
	got := Of(b)
	g.Expect(got[0].Before).To(Equal([]workv1alpha2.TargetCluster{{Name: "a", Replicas: 2}, {Name: "b"}}))
	g.Expect(Set(b, got)).To(Succeed())
	g.Expect(b.Annotations[contract.EvictionsAnnotation]).To(Equal(few), "it stays as hubs of before wrote it")

	g.Expect(Set(b, []workv1alpha2.Eviction{{From: "a", Before: TargetsBefore(nil)}, {From: "b"}})).To(Succeed())
	got = Of(b)
	g.Expect(got[0].Before).To(And(BeEmpty(), Not(BeNil())), "it is known that there were none")
	g.Expect(Gained(&got[0], []workv1alpha2.TargetCluster{{Name: "c"}})).To(Equal([]string{"c"}))
	g.Expect(got[1].Before).To(BeNil())

	same := []workv1alpha2.Eviction{{From: "a", Before: TargetsBefore(nil)}, {From: "b", Before: inMany(3)}, {From: "c"}, {From: "d", Before: inMany(2)}, {From: "e", Before: TargetsBefore(nil)}}
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
	b := &workv1alpha2.ResourceBinding{Spec: workv1alpha2.ResourceBindingSpec{}}
	b.Annotations = map[string]string{contract.EvictionsPackedAnnotation: "[" + strings.Repeat(`{"from":"a"},`, 99) + `{"from":"a"}]`}
	g.Expect(Of(b)).To(HaveLen(maxEvictions))

	half := compressed(strings.Repeat("-a\n", maxUnpacked/6+1))
	got := unpack([]storedEviction{{Packed: half}, {Packed: half}, {Packed: compressed("")}})
	g.Expect(got[0].Before).NotTo(BeNil())
	g.Expect(got[1].Before).To(BeNil(), "all together are too long")
	g.Expect(got[2].Before).To(BeNil())
}
