package facts_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"fairlead.dev/agent/clusterstatus/facts"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// list makes a list of pairs of names and quantities.
func list(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for pair := range slices.Chunk(pairs, 2) {
		out[corev1.ResourceName(pair[0])] = resource.MustParse(pair[1])
	}
	return out
}

// texts makes a list comparable.
func texts(l corev1.ResourceList) map[string]string {
	out := map[string]string{}
	for name, q := range l {
		out[string(name)] = q.String()
	}
	return out
}

func node(name string, ready bool, allocatable ...string) *corev1.Node {
	n := &corev1.Node{}
	n.Name = name
	n.Status.Allocatable = list(allocatable...)
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionTrue}, {Type: corev1.NodeReady, Status: status}}
	return n
}

func pod(onNode string, phase corev1.PodPhase, requests ...string) *corev1.Pod {
	p := &corev1.Pod{}
	p.Spec.NodeName = onNode
	p.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list(requests...)}}}
	p.Status.Phase = phase
	return p
}

func nodesOf(nodes []*corev1.Node) *facts.Nodes {
	out := facts.NewNodes()
	for _, n := range nodes {
		out.Put(n)
	}
	return out
}

// resources adds up nodes and pods, to which it gives names.
func resources(nodes []*corev1.Node, pods []*corev1.Pod, models []clusterv1alpha1.ResourceModel) *clusterv1alpha1.ResourceSummary {
	tally := facts.NewPods()
	for i, p := range pods {
		p.Name = "p-" + strconv.Itoa(i)
		tally.Put(p)
	}
	return facts.Resources(nodesOf(nodes), tally, models)
}

func TestRequest(t *testing.T) {
	t.Parallel()
	container := func(requests ...string) corev1.Container {
		return corev1.Container{Resources: corev1.ResourceRequirements{Requests: list(requests...), Limits: list("cpu", "100")}}
	}
	cases := map[string]struct {
		spec corev1.PodSpec
		want map[string]string
	}{
		"nothing asked": {corev1.PodSpec{Containers: []corev1.Container{{}}}, map[string]string{}},
		"the sum of the containers": {
			corev1.PodSpec{Containers: []corev1.Container{container("cpu", "100m", "memory", "1Gi"), container("cpu", "1", "example.com/gpu", "2")}},
			map[string]string{"cpu": "1100m", "memory": "1Gi", "example.com/gpu": "2"},
		},
		"an init container that asks for more": {
			corev1.PodSpec{
				InitContainers: []corev1.Container{container("cpu", "2", "memory", "1Mi"), container("cpu", "1")},
				Containers:     []corev1.Container{container("cpu", "1", "memory", "1Gi")},
			},
			map[string]string{"cpu": "2", "memory": "1Gi"},
		},
		"the overhead comes on top": {
			corev1.PodSpec{Containers: []corev1.Container{container("cpu", "1")}, Overhead: list("cpu", "250m", "memory", "0")},
			map[string]string{"cpu": "1250m"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.spec.NodeName = "a"
			got := texts(resources([]*corev1.Node{node("a", true, "example.com/gpu", "8")}, []*corev1.Pod{{Spec: tc.spec}}, nil).Allocated)
			delete(got, "pods")
			NewWithT(t).Expect(got).To(Equal(tc.want))
		})
	}
}

func TestNodesAndResources(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	nodes := []*corev1.Node{
		node("a", true, "cpu", "4", "memory", "8Gi", "pods", "110"),
		node("b", false, "cpu", "2500m", "memory", "4096Mi", "pods", "10", "example.com/gpu", "1"),
	}
	pods := []*corev1.Pod{
		pod("a", corev1.PodRunning, "cpu", "500m", "memory", "512Mi"),
		pod("a", corev1.PodPending, "cpu", "1"),
		pod("b", corev1.PodSucceeded, "cpu", "9"),
		pod("b", corev1.PodFailed, "cpu", "9"),
		pod("", corev1.PodPending, "cpu", "7"),
		pod("gone", corev1.PodRunning, "cpu", "1"),
	}
	g.Expect(nodesOf(nodes).Summary()).To(Equal(&clusterv1alpha1.NodeSummary{TotalNum: 2, ReadyNum: 1}))
	got := resources(nodes, pods, nil)
	g.Expect(texts(got.Allocatable)).To(Equal(map[string]string{"cpu": "6500m", "memory": "12Gi", "pods": "120", "example.com/gpu": "1"}))
	g.Expect(texts(got.Allocating)).To(Equal(map[string]string{"cpu": "7", "pods": "1"}))
	g.Expect(texts(got.Allocated)).To(Equal(map[string]string{"cpu": "2500m", "memory": "512Mi", "pods": "3"}))
	g.Expect(got.AllocatableModelings).To(BeNil())

	// The order does not matter, not even to the notation.
	slices.Reverse(nodes)
	slices.Reverse(pods)
	again := resources(nodes, pods, nil)
	g.Expect(texts(again.Allocatable)).To(Equal(texts(got.Allocatable)))

	empty := resources(nil, nil, nil)
	g.Expect(empty).To(Equal(&clusterv1alpha1.ResourceSummary{}))
}

// TestPodsThatAskForTooMuchForANumber covers pods that are never scheduled, since they request more than any node
// has: they must not reduce the room for others.
func TestPodsThatAskForTooMuchForANumber(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	got := resources([]*corev1.Node{node("a", true, "cpu", "4", "memory", "8Gi", "pods", "110")}, []*corev1.Pod{
		pod("", corev1.PodPending, "cpu", "9300000000000000.0001", "memory", "5E"), pod("", corev1.PodPending, "memory", "5E"),
	}, nil)
	g.Expect(texts(got.Allocating)).To(Equal(map[string]string{"cpu": "9223372036854775807m", "memory": "9223372036854775807", "pods": "2"}))
}

func TestModels(t *testing.T) {
	t.Parallel()
	model := func(grade uint, cpu, memory string) clusterv1alpha1.ResourceModel {
		return clusterv1alpha1.ResourceModel{Grade: grade, Ranges: []clusterv1alpha1.ResourceModelRange{
			{Name: corev1.ResourceCPU, Min: resource.MustParse(cpu)}, {Name: corev1.ResourceMemory, Min: resource.MustParse(memory)},
		}}
	}
	models := []clusterv1alpha1.ResourceModel{model(0, "1", "1Gi"), model(1, "2", "4Gi"), model(2, "8", "16Gi")}
	full := node("full", true, "cpu", "16", "memory", "64Gi", "pods", "1")
	cases := map[string]struct {
		nodes []*corev1.Node
		pods  []*corev1.Pod
		want  []int
	}{
		"no nodes":                               {nil, nil, []int{0, 0, 0}},
		"a node is of the last grade it reaches": {[]*corev1.Node{node("a", true, "cpu", "3", "memory", "64Gi", "pods", "5")}, nil, []int{0, 1, 0}},
		"the scarcest resource decides":          {[]*corev1.Node{node("a", true, "cpu", "32", "memory", "1Gi", "pods", "5")}, nil, []int{1, 0, 0}},
		"a node below the first grade is of none": {
			[]*corev1.Node{node("a", true, "cpu", "500m", "memory", "64Gi", "pods", "5"), node("b", true, "cpu", "8", "pods", "5")}, nil, []int{0, 0, 0},
		},
		"what pods ask for is not free": {
			[]*corev1.Node{node("a", true, "cpu", "8", "memory", "16Gi", "pods", "5")},
			[]*corev1.Pod{pod("a", corev1.PodRunning, "cpu", "1"), pod("a", corev1.PodSucceeded, "cpu", "7")},
			[]int{0, 1, 0},
		},
		"a node without room for pods is skipped, those after it are not": {
			[]*corev1.Node{full, node("a", true, "cpu", "8", "memory", "16Gi", "pods", "5"), node("b", true, "cpu", "8", "memory", "16Gi", "pods", "5")},
			[]*corev1.Pod{pod("full", corev1.PodRunning)},
			[]int{0, 0, 2},
		},
		"a node that is not ready counts": {[]*corev1.Node{node("a", false, "cpu", "1", "memory", "1Gi", "pods", "5")}, nil, []int{1, 0, 0}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got := resources(tc.nodes, tc.pods, models).AllocatableModelings
			g.Expect(got).To(HaveLen(3))
			for i, m := range got {
				g.Expect(m).To(Equal(clusterv1alpha1.AllocatableModeling{Grade: uint(i), Count: tc.want[i]}))
			}
		})
	}
}

// TestResourcesThatNoNodeHasAreNotReported has a pod that asks for hundreds of resources which no node has, and nodes that offer as many.
func TestResourcesThatNoNodeHasAreNotReported(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var many []string
	for i := range 300 {
		many = append(many, "example.com/"+strings.Repeat("x", 40)+strconv.Itoa(i), "1")
	}
	got := resources([]*corev1.Node{node("n", true, "cpu", "4", "pods", "10", "example.com/gpu", "2")},
		[]*corev1.Pod{pod("", corev1.PodPending, append(many, "cpu", "1", "example.com/gpu", "1")...)}, nil)
	g.Expect(texts(got.Allocating)).To(Equal(map[string]string{"cpu": "1", "pods": "1", "example.com/gpu": "1"}))

	got = resources([]*corev1.Node{node("n", true, append(many, "cpu", "4", "memory", "1Gi", "pods", "10")...)}, nil, nil)
	g.Expect(len(got.Allocatable)).To(BeNumerically("<=", 96+1))
	g.Expect(texts(got.Allocatable)).To(And(HaveKeyWithValue("cpu", "4"), HaveKeyWithValue("memory", "1Gi"), HaveKeyWithValue("pods", "10")))
}
