package execution

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/execution/plan"
)

// hanging is an API server's error for a webhook that does not answer.
func hanging() error {
	return apierrors.NewInternalError(errors.New(`failed calling webhook "hangs.example": failed to call webhook: Post "https://hangs.example/?timeout=10s": context deadline exceeded`))
}

// slowTest makes writes at a time that passes as it says.
type slowTest struct {
	*slowRequests

	now *clocktesting.FakePassiveClock
}

func newSlowTest() *slowTest {
	now := clocktesting.NewFakePassiveClock(time.Unix(1_000_000, 0))
	return &slowTest{slowRequests: newSlowRequests(now, 8), now: now}
}

func (s *slowTest) begin(p place, n int) (writes []*request) {
	for range n {
		if w, ok := s.Begin(p); ok {
			writes = append(writes, w)
		}
	}
	return writes
}

func (s *slowTest) end(writes []*request, err error) {
	for _, w := range writes {
		s.End(w, err)
	}
}

func (s *slowTest) pass(d time.Duration) { s.now.SetTime(s.now.Now().Add(d)) }

func placeAt(kind, namespace string) place {
	return place{GroupKind: schema.GroupKind{Kind: kind}, namespace: namespace, act: actWrite}
}

func TestWritesThatAreSlowHoldAFewWorkersOnly(t *testing.T) {
	t.Parallel()
	g, s := NewWithT(t), newSlowTest()
	slow, near, beside, other := placeAt("A", "shop"), placeAt("A", "mail"), placeAt("B", "shop"), placeAt("B", "mail")

	first := s.begin(slow, 8)
	g.Expect(first).To(HaveLen(8), "nothing is known of them")
	s.end(first, hanging())
	held := s.begin(slow, 8)
	g.Expect(held).To(HaveLen(2))
	tries := s.begin(near, 8)
	g.Expect(tries).To(HaveLen(2), "another namespace of the kind may be slow, too, and is found out all the same")
	g.Expect(s.begin(beside, 8)).To(BeEmpty(), "so may another kind of the namespace, and there is no room")
	g.Expect(s.begin(other, 8)).To(HaveLen(8))
	s.end(tries, nil)
	g.Expect(s.begin(near, 8)).To(HaveLen(8), "it is well")

	// A request that is unanswered for long makes its place slow before it ends; other places are not affected.
	s = newSlowTest()
	s.begin(slow, 1)
	g.Expect(s.begin(near, 1)).To(HaveLen(1))
	s.pass(slowAfter)
	g.Expect(s.begin(slow, 8)).To(BeEmpty(), "two are late")
	g.Expect(s.begin(placeAt("B", "post"), 8)).To(HaveLen(8))
}

// TestAPlaceIsSlowForSomeTime covers a webhook that concerns only some objects of a place, while requests for others
// are answered in time.
func TestAPlaceIsSlowForSomeTime(t *testing.T) {
	t.Parallel()
	g, s := NewWithT(t), newSlowTest()
	at := placeAt("A", "shop")
	isNew, _ := s.End(s.begin(at, 1)[0], hanging())
	g.Expect(isNew).To(BeTrue())
	for range 100 {
		s.end(s.begin(at, 1), nil)
		s.end(s.begin(at, 1), errors.New("refused before a webhook was called"))
	}
	held := s.begin(at, 8)
	g.Expect(held).To(HaveLen(2), "mixed answers do not clear it")
	s.end(held[:1], nil)
	s.pass(slowFor - time.Second)
	isNew, _ = s.End(held[1], hanging())
	g.Expect(isNew).To(BeFalse())
	s.pass(slowFor - time.Second)
	w := s.begin(at, 8)
	g.Expect(w).To(HaveLen(2), "it was slow a while ago")
	s.end(w[1:], nil)
	isNew, recovered := s.End(w[0], nil)
	g.Expect(isNew).To(BeFalse())
	g.Expect(recovered).To(BeEmpty())

	s.pass(time.Second)
	w = s.begin(at, 8)
	g.Expect(w).To(HaveLen(8), "nothing was slow for long, also where nothing was answered well")
	_, recovered = s.End(w[0], nil)
	g.Expect(recovered).To(ConsistOf(at))
	g.Expect(s.slow).To(BeEmpty())
	g.Expect(s.well).To(BeEmpty())
}

func TestSlowPlacesTakeTurns(t *testing.T) {
	t.Parallel()
	g, s := NewWithT(t), newSlowTest()
	places := []place{placeAt("A", "shop"), placeAt("B", "mail"), placeAt("C", "post"), {GroupKind: schema.GroupKind{Kind: "A"}, namespace: "shop", act: actDelete}}
	for _, at := range places {
		s.end(s.begin(at, 1), hanging())
	}
	hangs, well := places[0], places[1]

	// A place with many hanging writes leaves a slot to another that has recovered.
	held := s.begin(hangs, 100)
	g.Expect(held).To(HaveLen(2))
	g.Expect(s.begin(well, 1)).To(BeEmpty())
	s.pass(slowAfter)
	s.end(held[:1], hanging())
	g.Expect(s.begin(hangs, 100)).To(BeEmpty())
	for range 50 {
		again := s.begin(well, 1)
		g.Expect(again).To(HaveLen(1))
		s.end(again, nil)
	}
	s.end(held[1:], hanging())

	// All of them have their turn, though one asks much more often.
	turns := map[place]int{}
	for range 40 {
		var writes []*request
		for _, at := range places {
			n := 1
			if at == hangs {
				n = 100
			}
			begun := s.begin(at, n)
			turns[at] += len(begun)
			writes = append(writes, begun...)
		}
		g.Expect(len(writes)).To(BeNumerically("<=", 2))
		s.pass(slowAfter)
		s.end(writes, hanging())
	}
	for _, at := range places {
		g.Expect(turns[at]).To(BeNumerically(">=", 15), "%v", at)
	}
}

// TestDeletionsDoNotWaitForWhatIsMade checks that a webhook that hangs on creates does not delay deletes.
func TestDeletionsDoNotWaitForWhatIsMade(t *testing.T) {
	t.Parallel()
	g, s := NewWithT(t), newSlowTest()
	made := placeAt("A", "shop")
	deleted := made
	deleted.act = actDelete
	s.end(s.begin(made, 1), hanging())
	g.Expect(s.begin(made, 100)).To(HaveLen(2))
	tries := s.begin(deleted, 8)
	g.Expect(tries).To(HaveLen(2))
	s.end(tries, nil)
	g.Expect(s.begin(deleted, 8)).To(HaveLen(8))
}

// convertingReader is a member one of whose conversion webhooks is not reached.
type convertingReader struct {
	client.Reader

	asked map[string]int
}

func (r convertingReader) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	return r.answer(obj.GetObjectKind().GroupVersionKind().Kind)
}

func (r convertingReader) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	return r.answer(list.GetObjectKind().GroupVersionKind().Kind)
}

func (r convertingReader) answer(kind string) error {
	r.asked[kind]++
	if strings.HasPrefix(kind, "Widget") {
		return apierrors.NewInternalError(errors.New(`conversion webhook for example.com/v1, Kind=Widget failed: Post "https://converts.example/": context deadline exceeded`))
	}
	return nil
}

// TestReadsThatAreSlowHoldAFewWorkersOnly covers reads that go through conversion webhooks: they hold no more workers
// than writes do.
func TestReadsThatAreSlowHoldAFewWorkersOnly(t *testing.T) {
	t.Parallel()
	g, s := NewWithT(t), newSlowTest()
	member := convertingReader{asked: map[string]int{}}
	reader := boundedReader{Reader: member, slow: s.slowRequests}
	of := func(kind string) *unstructured.Unstructured {
		return prototype(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: kind})
	}
	key := client.ObjectKey{Namespace: "shop", Name: "one"}
	g.Expect(reader.Get(t.Context(), key, of("Widget"))).To(MatchError(ContainSubstring("conversion webhook")))
	held := s.begin(place{GroupKind: schema.GroupKind{Group: "example.com", Kind: "Widget"}, namespace: "shop", act: actRead}, 8)
	g.Expect(held).To(HaveLen(2), "it is known to be slow")
	g.Expect(reader.Get(t.Context(), key, of("Widget"))).To(MatchError(errNoRoom))
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(of("WidgetList").GroupVersionKind())
	g.Expect(reader.List(t.Context(), list, client.InNamespace("shop"))).To(MatchError(errNoRoom))
	g.Expect(member.asked).To(Equal(map[string]int{"Widget": 1}))
	key.Namespace = "mail"
	g.Expect(reader.Get(t.Context(), key, of("Gadget"))).To(Succeed(), "the others go through")
	s.end(held, nil)
	g.Expect(reader.List(t.Context(), list, client.InNamespace("shop"))).To(MatchError(ContainSubstring("conversion webhook")), "there is room")
}

type panickingClient struct{ client.Client }

func (panickingClient) Delete(context.Context, client.Object, ...client.DeleteOption) error {
	panic("controller-runtime recovers it")
}

func TestAWriteThatPanicsEnds(t *testing.T) {
	t.Parallel()
	g, s := NewWithT(t), newSlowTest()
	b := boundedClient{Client: panickingClient{}, slow: s.slowRequests}
	g.Expect(func() { _ = b.Delete(t.Context(), &unstructured.Unstructured{}) }).To(Panic())
	g.Expect(s.under).To(BeEmpty())
}

func TestMindsVersion(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(mindsVersion(apierrors.NewBadRequest("resourceVersion should not be set on objects to be created"))).To(BeTrue())
	g.Expect(mindsVersion(apierrors.NewInternalError(errors.New("resourceVersion should not be set on objects to be created")))).To(BeTrue())
	g.Expect(mindsVersion(hanging())).To(BeFalse(), "it would hang once more")
	g.Expect(mindsVersion(errors.New("no answer"))).To(BeFalse())
	minded := field.Invalid(field.NewPath("metadata", "resourceVersion"), "1", "must not be set")
	g.Expect(mindsVersion(apierrors.NewInvalid(schema.GroupKind{Kind: "A"}, "a", field.ErrorList{minded}))).To(BeTrue())
	for _, message := range []string{
		`admission webhook "denies.example" denied the request: no`, // of a webhook that names no code
		`admission webhook "denies.example" denied the request: metadata.resourceVersion is none of ours`,
		`conversion webhook for example.com/v1, Kind=A failed: Post "https://converts.example/": context deadline exceeded`,
		`failed to create typed patch object (default/a; v1, Kind=A): .spec.resourceVersion: field not declared in schema`,
		"the object is too large",
	} {
		g.Expect(mindsVersion(apierrors.NewBadRequest(message))).To(BeFalse(), message)
		g.Expect(mindsVersion(apierrors.NewInternalError(errors.New(message)))).To(BeFalse(), message)
	}
	g.Expect(overtaken(apierrors.NewAlreadyExists(schema.GroupResource{Resource: "configmaps"}, "a"))).To(BeTrue())
	result, message := classify(plan.Object{}, errNoRoom)
	g.Expect(result).To(Equal(plan.Unanswered), "it takes back nothing of what was told")
	g.Expect(message).To(ContainSubstring("webhook"))
}
