package detector

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// classes has the values of the existing PriorityClasses, and counts the reads.
type classes struct {
	client.Reader

	values map[string]int64
	reads  int
}

func (c *classes) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	c.reads++
	value, ok := c.values[key.Name]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "priorityclasses"}, key.Name)
	}
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("unexpected read of a %T", obj)
	}
	return unstructured.SetNestedField(u.Object, value, "value")
}

func TestPriorityClassIsReadOnceForManyTemplates(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := &classes{values: map[string]int64{"high": 7}}
	now := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	r := &Reconciler{liveReader: hub, clock: now}
	named := func(class string) policyv1alpha1.Policy {
		p := &policyv1alpha1.PropagationPolicy{}
		p.Spec.SchedulePriority = &policyv1alpha1.SchedulePriority{PriorityClassSource: policyv1alpha1.KubePriorityClass, PriorityClassName: class}
		return p
	}
	values := func(class string, want int32) {
		for range 1000 {
			value, missing, err := r.priority(t.Context(), named(class))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(missing).To(BeEmpty())
			g.Expect(value).To(HaveValue(Equal(want)))
		}
	}
	values("high", 7)
	g.Expect(hub.reads).To(Equal(1))

	// The class is deleted and created again with another value.
	hub.values["high"] = 9
	now.SetTime(now.Now().Add(priorityLasts))
	values("high", 9)
	g.Expect(hub.reads).To(Equal(2))

	// A missing class is found once it is created.
	for range 2 {
		value, missing, err := r.priority(t.Context(), named("low"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(value).To(BeNil())
		g.Expect(missing).To(Equal("low"))
	}
	hub.values["low"] = -5
	values("low", -5)
	g.Expect(hub.reads).To(Equal(5))
	g.Expect(r.priority(t.Context(), &policyv1alpha1.PropagationPolicy{})).To(BeNil())
	g.Expect(hub.reads).To(Equal(5), "a policy without a class reads nothing")
}
