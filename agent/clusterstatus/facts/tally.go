package facts

import (
	"crypto/sha256"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// Nodes keeps what the member's nodes offer, and whether they are ready.
type Nodes struct {
	nodes map[string]node
}

type node struct {
	allocatable amounts
	ready       bool
}

// NewNodes returns empty Nodes.
func NewNodes() *Nodes { return &Nodes{nodes: map[string]node{}} }

// Put adds or updates a node, and returns whether anything changed.
func (n *Nodes) Put(of *corev1.Node) bool {
	fresh := node{allocatable: amounts{}}
	fresh.allocatable.add(of.Status.Allocatable)
	for i := range of.Status.Conditions {
		if c := &of.Status.Conditions[i]; c.Type == corev1.NodeReady {
			fresh.ready = c.Status == corev1.ConditionTrue
		}
	}
	old, ok := n.nodes[of.Name]
	n.nodes[of.Name] = fresh
	return !ok || old.ready != fresh.ready || !maps.Equal(old.allocatable, fresh.allocatable)
}

// Drop removes a node.
func (n *Nodes) Drop(name string) { delete(n.nodes, name) }

// Summary counts the nodes.
func (n *Nodes) Summary() *clusterv1alpha1.NodeSummary {
	out := &clusterv1alpha1.NodeSummary{TotalNum: int32(len(n.nodes))}
	for _, one := range n.nodes {
		if one.ready {
			out.ReadyNum++
		}
	}
	return out
}

// Pods keeps a few dozen bytes of each pod of the member, so that they can be added up as they come and go. Most pods
// request the same few combinations of resources, which are stored once.
type Pods struct {
	pods map[podKey]pod
	asks map[string]*ask
	// nodes interns the names of nodes.
	nodes map[string]string
}

// podKey stands for the namespace and name of a pod.
type podKey [16]byte

type pod struct {
	node string
	over bool
	ask  *ask
}

// ask is a combination of requested resources, and the number of pods that request it.
type ask struct {
	text    string
	amounts amounts
	pods    int
}

// NewPods returns empty Pods.
func NewPods() *Pods {
	return &Pods{pods: map[podKey]pod{}, asks: map[string]*ask{}, nodes: map[string]string{}}
}

// Put adds or updates a pod, and returns whether anything changed.
func (p *Pods) Put(of *corev1.Pod) bool {
	key := keyOf(of)
	old, ok := p.pods[key]
	fresh := pod{
		node: p.nodeOf(of.Spec.NodeName),
		over: of.Status.Phase == corev1.PodSucceeded || of.Status.Phase == corev1.PodFailed,
		ask:  p.askOf(request(&of.Spec)),
	}
	if ok && old == fresh {
		return false
	}
	fresh.ask.pods++
	p.release(old)
	p.pods[key] = fresh
	return true
}

// Drop removes a pod.
func (p *Pods) Drop(of *corev1.Pod) {
	key := keyOf(of)
	p.release(p.pods[key])
	delete(p.pods, key)
}

func (p *Pods) release(one pod) {
	if one.ask == nil {
		return
	}
	if one.ask.pods--; one.ask.pods == 0 {
		delete(p.asks, one.ask.text)
	}
}

func (p *Pods) nodeOf(name string) string {
	if known, ok := p.nodes[name]; ok {
		return known
	}
	p.nodes[name] = strings.Clone(name)
	return p.nodes[name]
}

func (p *Pods) askOf(wants amounts) *ask {
	text := wants.text()
	known, ok := p.asks[text]
	if !ok {
		known = &ask{text: text, amounts: wants}
		p.asks[text] = known
	}
	return known
}

// keyOf returns the key of a pod. The hash is long enough that collisions can be ignored.
func keyOf(of *corev1.Pod) podKey {
	sum := sha256.Sum256([]byte(of.Namespace + "/" + of.Name))
	return podKey(sum[:16])
}

// text returns the same text for equal amounts.
func (a amounts) text() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if a[name] == 0 {
			continue
		}
		b.WriteString(string(name))
		b.WriteByte('=')
		b.WriteString(strconv.FormatInt(a[name], 10))
		b.WriteByte(' ')
	}
	return b.String()
}
