package decide_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/quota"
	"fairlead.dev/hub/flow/scheduler/decide"
)

// naming makes the placement name the clusters a and b and n more, each with 30 bytes of JSON.
func naming(others int) func(*decide.Input) {
	return func(in *decide.Input) {
		in.Spec.Placement.ClusterAffinity = names("a", "b")
		for i := range others {
			in.Spec.Placement.ClusterAffinity.ClusterNames = append(in.Spec.Placement.ClusterAffinity.ClusterNames, fmt.Sprintf("%027d", i))
		}
	}
}

// TestLongPlacementIsStoredAsHash checks that a long placement is recognised as the one last applied, whether the annotation has
// its hash or, as earlier versions of the hub wrote, all of it.
func TestLongPlacementIsStoredAsHash(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	first := decide.Decide(input(divided, naming(5000)))
	g.Expect(first.Outcome).To(Equal(decide.Scheduled), first.Message)
	g.Expect(first.Placement).To(HavePrefix("sha256:"))
	g.Expect(decide.Decide(input(divided, naming(5000), placed(first))).Trigger).To(Equal(decide.TriggerNone))
	g.Expect(decide.Decide(input(divided, naming(5001), placed(first))).Trigger).To(Equal(decide.TriggerPlacement))

	before := input(divided, naming(5000), placed(first))
	applied(&before)
	g.Expect(len(before.AppliedPlacement)).To(BeNumerically(">", contract.MaxAppliedPlacement))
	g.Expect(decide.Decide(before).Trigger).To(Equal(decide.TriggerNone))
	g.Expect(decide.Shortened(before.AppliedPlacement)).To(Equal(first.Placement))
	g.Expect(decide.Shortened(first.Placement)).To(Equal(first.Placement))

	short := input(divided, naming(10))
	applied(&short)
	g.Expect(decide.Decide(input(divided, naming(10))).Placement).To(Equal(short.AppliedPlacement), "a short placement is stored as JSON")
	g.Expect(decide.Shortened(short.AppliedPlacement)).To(Equal(short.AppliedPlacement))
	g.Expect(len(decide.Shortened(strings.Repeat("?", 100<<10)))).To(BeNumerically("<", 100), "an invalid placement is stored as a hash")
}

func TestLongPlacementIsComparedByMeaning(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	first := decide.Decide(input(divided, naming(5000)))
	in := input(divided, naming(5000))
	applied(&in)
	var anyOrder map[string]any
	g.Expect(json.Unmarshal([]byte(in.AppliedPlacement), &anyOrder)).To(Succeed())
	other, err := json.MarshalIndent(anyOrder, "", " ")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(decide.Shortened(string(other))).To(Equal(first.Placement))
}

// TestTooLongPlacementKeepsTargets checks that an application keeps its targets, except those that its namespace does not allow.
func TestTooLongPlacementKeepsTargets(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	both := has(workv1alpha2.TargetCluster{Name: "a", Replicas: 2}, workv1alpha2.TargetCluster{Name: "b", Replicas: 2})
	got := decide.Decide(input(naming(9000), both))
	g.Expect(got.Outcome).To(Equal(decide.Refused))
	g.Expect(got.Message).To(ContainSubstring("may take 262144"))
	g.Expect(got.Targets).To(HaveLen(2))

	got = decide.Decide(input(naming(9000), both, allowed("name=b")))
	g.Expect(got.Outcome).To(Equal(decide.Refused))
	g.Expect(got.Targets).To(HaveExactElements(HaveField("Name", "b")))
	g.Expect(got.Leave).To(HaveExactElements(HaveField("Cluster", "a")))
}

// TestTooManyRequestsAreNotAdmitted covers a pod that requests thousands of resources that do not exist.
func TestTooManyRequestsAreNotAdmitted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	padded := func(in *decide.Input) {
		requests := cpu("2")
		for i := range 1000 {
			requests[corev1.ResourceName(fmt.Sprintf("example.com/resource-%d", i))] = resource.MustParse("1")
		}
		in.Spec.ReplicaRequirements = &workv1alpha2.ReplicaRequirements{ResourceRequest: requests}
	}
	first := decide.Decide(input(bounded, requesting("500m")))
	got := decide.Decide(input(bounded, padded, placed(first)))
	g.Expect(got.Outcome).To(Equal(decide.Refused))
	g.Expect(got.Targets).To(Equal(first.Targets))
	g.Expect(got.AdmittedRequests).To(Equal(first.AdmittedRequests))

	for _, before := range []string{"", strings.Repeat("x", contract.MaxAdmittedRequests+1)} {
		unknown := placed(first)
		got = decide.Decide(input(bounded, padded, unknown, func(in *decide.Input) { in.AdmittedRequests = before }))
		g.Expect(got.Outcome).To(Equal(decide.Refused))
		spec := input(padded).Spec
		g.Expect(quota.Usage(quota.Admitted(spec, got.AdmittedRequests), nil, first.Targets)).NotTo(HaveKey(corev1.ResourceCPU), "the new requests are not admitted")
	}
	g.Expect(decide.Decide(input(padded, placed(first))).Outcome).NotTo(Equal(decide.Refused), "without a quota nothing needs to be admitted")
}
