package agentlimit

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	testclock "k8s.io/utils/clock/testing"
)

// behind is the next admission plugin, which counts its calls.
type behind struct{ admitted, validated int }

func (*behind) Handles(admission.Operation) bool { return true }

func (b *behind) Admit(context.Context, admission.Attributes, admission.ObjectInterfaces) error {
	b.admitted++
	return nil
}

func (b *behind) Validate(context.Context, admission.Attributes, admission.ObjectInterfaces) error {
	b.validated++
	return nil
}

func now() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// work returns a Work with a manifest and a status of these sizes in bytes.
func work(manifest, status int) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work",
		"spec":   map[string]any{"data": strings.Repeat("m", manifest)},
		"status": map[string]any{"pad": strings.Repeat("x", status)},
	}}
}

func write(object runtime.Object, who string, groups ...string) admission.Attributes {
	return writeTo("status", object, who, groups...)
}

func writeTo(subresource string, object runtime.Object, who string, groups ...string) admission.Attributes {
	return admission.NewAttributesRecord(object, nil, schema.GroupVersionKind{}, "es-a", "web", schema.GroupVersionResource{Resource: "works"}, subresource,
		admission.Update, nil, false, &user.DefaultInfo{Name: who, Groups: groups})
}

func TestAStatusHasRoomForSoMuch(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	g := NewWithT(t)
	chain := &behind{}
	l := New(chain, testclock.NewFakePassiveClock(now()))
	g.Expect(l.Validate(ctx, write(work(1<<20, 500_000), "a", agents), nil)).To(Succeed(), "what the hub sends does not count")
	g.Expect(apierrors.IsRequestEntityTooLargeError(l.Validate(ctx, write(work(0, 800_000), "a", agents), nil))).To(BeTrue())
	g.Expect(chain.validated).To(Equal(1), "what is too large nobody looks at")
	g.Expect(l.Validate(ctx, write(work(0, 800_000), "admin", "system:masters"), nil)).To(Succeed())
	g.Expect(l.Validate(ctx, writeTo("", work(0, 800_000), "a", agents), nil)).To(Succeed(), "a finalizer goes whatever was reported once")
	g.Expect(l.Admit(ctx, write(work(0, 800_000), "a", agents), nil)).To(Succeed())
	g.Expect(chain.admitted).To(Equal(1))
}

func TestAnAgentThatReturnsIsNotHindered(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	l := New(&behind{}, testclock.NewFakePassiveClock(now()))
	for range 1000 {
		one := write(work(20_000, 1000), "a", agents)
		g.Expect(l.Validate(t.Context(), one, nil)).To(Succeed(), "the finalizer")
		g.Expect(l.Validate(t.Context(), one, nil)).To(Succeed(), "the report")
	}
}

func TestReportsOnLargeWorksAreSmall(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	l := New(&behind{}, testclock.NewFakePassiveClock(now()))
	// Six hundred Works of 200 kB, each with a few bytes of status and then its finalizer removed, need not wait; the
	// next ones wait only briefly.
	for range 600 {
		for _, subresource := range []string{"status", ""} {
			g.Expect(l.Validate(t.Context(), writeTo(subresource, work(200_000, 300), "a", agents), nil)).To(Succeed())
		}
	}
	g.Expect(l.left["a"].sent.TokensAt(now())).To(BeNumerically(">", burst-(2<<20)))
}

func TestAThiefWritesAsMuchAsAnybody(t *testing.T) {
	t.Parallel()
	const minutes, half = 2, 500_000
	for name, of := range map[string]struct {
		status, manifest int
		subresource      string
		counts           int
		most, perSecond  int
	}{
		"large statuses":                  {status: half, manifest: 2000, subresource: "status", counts: half, most: burst, perSecond: perSecond},
		"large objects":                   {status: half, manifest: half, counts: 2 * half, most: stored, perSecond: storedPerSecond},
		"small statuses of large objects": {status: 100, manifest: 2 * half, subresource: "status", counts: 2 * half, most: stored, perSecond: storedPerSecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			at := testclock.NewFakePassiveClock(now())
			l := New(&behind{}, at)
			again := writeTo(of.subresource, work(of.manifest, of.status), "thief", agents)
			written := 0
			for seconds := range minutes * 60 {
				at.SetTime(now().Add(time.Duration(seconds) * time.Second))
				for range 20 {
					err := l.Validate(t.Context(), again, nil)
					if err == nil {
						written += of.counts
						continue
					}
					g.Expect(apierrors.IsTooManyRequests(err)).To(BeTrue())
					wait, ok := apierrors.SuggestsClientDelay(err)
					g.Expect(ok).To(BeTrue())
					g.Expect(wait).To(BeNumerically("<=", 2))
					break
				}
			}
			g.Expect(written).To(BeNumerically("<=", of.most+minutes*60*of.perSecond))
			g.Expect(l.Validate(t.Context(), write(work(0, 1000), "neighbour", agents), nil)).To(Succeed(), "others have their own")
			at.SetTime(now().Add(time.Hour))
			for range 60 {
				g.Expect(l.Validate(t.Context(), again, nil)).To(Succeed(), "it comes back")
			}
		})
	}
}

func TestAgentsThatWroteLongAgoAreForgotten(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	at := testclock.NewFakePassiveClock(now())
	l := New(&behind{}, at)
	for i := range 100 {
		g.Expect(l.Validate(t.Context(), write(work(1000, 1000), fmt.Sprintf("a-%d", i), agents), nil)).To(Succeed())
	}
	for range 50 {
		g.Expect(l.Validate(t.Context(), writeTo("", work(1<<20, 0), "busy", agents), nil)).To(Succeed())
	}
	left := func() int { return len(l.left) }
	g.Expect(left()).To(Equal(101))
	at.SetTime(now().Add(sweep / 2))
	g.Expect(l.Validate(t.Context(), write(work(0, 10), "b", agents), nil)).To(Succeed())
	g.Expect(left()).To(Equal(102), "it is looked for them once a minute")
	at.SetTime(now().Add(sweep / 2 * 3))
	l.left["busy"].sent.AllowN(at.Now(), 1<<20)
	g.Expect(l.Validate(t.Context(), write(work(0, 10), "b", agents), nil)).To(Succeed())
	g.Expect(l.left).To(And(HaveLen(2), HaveKey("busy"), HaveKey("b")), "who has not all left is not")
}

func TestEncodedBytesCountToo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	l := New(&behind{}, testclock.NewFakePassiveClock(now()))
	again := write(lease(10_000, 0), "a", agents)
	var refused error
	for range 10_000 {
		refused = l.Validate(t.Context(), again, nil)
	}
	g.Expect(apierrors.IsTooManyRequests(refused)).To(BeTrue())
}

// lease returns a lease with a holder and managedFields of these lengths.
func lease(holder, owned int) *coordinationv1.Lease {
	out := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: new(strings.Repeat("x", holder))}}
	out.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "a", Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: &metav1.FieldsV1{Raw: fmt.Appendf(nil, `{"f:%s":{}}`, strings.Repeat("x", owned))},
	}}
	return out
}

func TestBuiltInKindsAreBoundedAsAWhole(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		object, before *coordinationv1.Lease
		group          string
		refused        bool
	}{
		"a usual one":                {object: lease(10, 500), group: agents},
		"endless managed fields":     {object: lease(10, 20_000), group: agents, refused: true},
		"more of them than before":   {object: lease(10, 30_000), before: lease(10, 20_000), group: agents, refused: true},
		"as many as before":          {object: lease(10, 20_000), before: lease(10, 20_000), group: agents},
		"an endless holder":          {object: lease(20_000, 10), group: agents, refused: true},
		"of the holder of a token":   {object: lease(10, 20_000), group: "system:bootstrappers:a", refused: true},
		"of an administrator":        {object: lease(10, 20_000), group: "system:masters"},
		"small, of one with a token": {object: lease(10, 500), group: "system:bootstrappers"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var before runtime.Object
			if tc.before != nil {
				before = tc.before
			}
			err := New(&behind{}, testclock.NewFakePassiveClock(now())).Validate(t.Context(), admission.NewAttributesRecord(tc.object, before,
				schema.GroupVersionKind{}, "karmada-cluster", "a", schema.GroupVersionResource{Resource: "leases"}, "", admission.Update, nil, false,
				&user.DefaultInfo{Name: "a", Groups: []string{tc.group}}), nil)
			g.Expect(apierrors.IsRequestEntityTooLargeError(err)).To(Equal(tc.refused))
			g.Expect(err != nil).To(Equal(tc.refused))
		})
	}
}

// TestTheSizeIsNearlyNeverTooSmall compares the estimate with the length of the encoded object.
func TestTheSizeIsNearlyNeverTooSmall(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`, `[]`, `null`, `true`, `1`, `-9223372036854775808`, `""`, `{"a":[1,2,{"b":null}],"c":"d"}`, `"<script>&amp;"`, `"\u0000\u001f\"\\"`, `"äöü€"`,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var value any
			g.Expect(json.Unmarshal([]byte(text), &value)).To(Succeed())
			encoded, err := json.Marshal(value)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(size(value)).To(BeNumerically(">=", len(encoded)), fmt.Sprintf("%s", encoded))
		})
	}
}
