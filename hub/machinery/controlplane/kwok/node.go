package kwok

import (
	"fmt"
	"runtime"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	nodePrefix = "node-"
	// ownedLabel marks nodes that this package created, and may delete.
	ownedLabel   = "fairlead.dev/kwok"
	nodeTypeKWOK = "kwok"
)

// Nodes describes the nodes of a cluster.
type Nodes struct {
	Count             int
	CPU, Memory, Pods resource.Quantity
	// Region and Zones become topology labels; the zones are assigned in turn. Empty ones set no label.
	Region string
	Zones  []string
	// Version is the kubelet version that the nodes report.
	Version string
}

// Make renders all nodes.
func (n Nodes) Make() []*corev1.Node {
	out := make([]*corev1.Node, 0, n.Count)
	for i := range n.Count {
		out = append(out, n.node(i))
	}
	return out
}

func (n Nodes) node(i int) *corev1.Node {
	name := fmt.Sprintf("%s%d", nodePrefix, i+1)
	labels := map[string]string{
		corev1.LabelHostname:           name,
		corev1.LabelOSStable:           "linux",
		corev1.LabelArchStable:         runtime.GOARCH,
		corev1.LabelInstanceTypeStable: nodeTypeKWOK,
		"type":                         nodeTypeKWOK,
		ownedLabel:                     "node",
	}
	if n.Region != "" {
		labels[corev1.LabelTopologyRegion] = n.Region
	}
	if len(n.Zones) > 0 {
		labels[corev1.LabelTopologyZone] = n.Zones[i%len(n.Zones)]
	}
	// Each node has its own range, which keeps the addresses of pods apart: KWOK only assigns them within a node.
	podCIDR := fmt.Sprintf("10.%d.%d.0/24", 128+i/256%64, i%256)
	resources := corev1.ResourceList{
		corev1.ResourceCPU:    n.CPU,
		corev1.ResourceMemory: n.Memory,
		corev1.ResourcePods:   n.Pods,
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Labels:      labels,
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
		},
		Spec: corev1.NodeSpec{PodCIDR: podCIDR, PodCIDRs: []string{podCIDR}, ProviderID: "kwok://" + strings.ToLower(name)},
		Status: corev1.NodeStatus{
			Capacity:    resources,
			Allocatable: resources,
			Addresses:   []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}},
			NodeInfo: corev1.NodeSystemInfo{
				Architecture:            runtime.GOARCH,
				OperatingSystem:         "linux",
				KubeletVersion:          n.Version,
				ContainerRuntimeVersion: "kwok",
			},
		},
	}
}
