package v1alpha1_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

func amounts(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

func TestNoMoreCapacityIsBelievedThanTheLimit(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := &clusterv1alpha1.Cluster{}
	g.Expect(c.Capacity()).To(BeNil())
	c.Spec.CapacityLimit = amounts("cpu", "8", "memory", "8Gi", "example.com/gpu", "1")
	g.Expect(c.Capacity()).To(BeNil(), "a limit is no report")

	reported := &clusterv1alpha1.ResourceSummary{
		Allocatable: amounts("cpu", "100k", "memory", "4Gi", "pods", "110"),
		Allocated:   amounts("cpu", "-100k", "memory", "1Gi", "pods", "-5"),
		Allocating:  amounts("cpu", "-1"),
	}
	c.Status.ResourceSummary = reported.DeepCopy()
	g.Expect(c.Capacity()).To(BeComparableTo(&clusterv1alpha1.ResourceSummary{
		Allocatable: amounts("cpu", "8", "memory", "4Gi", "pods", "110"), Allocated: amounts("memory", "1Gi", "pods", "-5"), Allocating: amounts(),
	}))
	g.Expect(c.Status.ResourceSummary).To(BeComparableTo(reported), "the report stays as it is")

	c.Spec.CapacityLimit = nil
	g.Expect(c.Capacity()).To(BeIdenticalTo(c.Status.ResourceSummary))
}
