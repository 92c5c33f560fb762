package owned

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// maxBetween is how many objects may be between a pod and its workload, as a CronJob has a Job between.
const maxBetween = 4

// Tree knows which object is the controller of which.
type Tree struct {
	workload types.UID
	above    map[types.UID]*metav1.OwnerReference
}

// NewTree returns one that knows of a workload alone.
func NewTree(workload types.UID) *Tree {
	return &Tree{workload: workload, above: map[types.UID]*metav1.OwnerReference{}}
}

// Add takes over what controls an object that may be between the workload and its pods.
func (t *Tree) Add(of metav1.Object) { t.above[of.GetUID()] = metav1.GetControllerOf(of) }

// Candidate is a pod that may be of the workload. It holds nothing of the pod but what people see and who controls it.
type Candidate struct {
	Pod

	controller *metav1.OwnerReference
}

// CandidateOf returns a pod as one that may be of the workload.
func CandidateOf(p *Object) Candidate {
	return Candidate{Pod: Of(p), controller: p.controller()}
}

// Owns says whether the controllers of a pod lead to the workload.
func (t *Tree) Owns(pod *Candidate) bool {
	if pod.UID == string(t.workload) {
		return true
	}
	uid, _ := t.topController(pod)
	return uid == t.workload
}

// Unknown returns the kinds of the controllers of pods of which it is not known what controls them, each once and in order.
func (t *Tree) Unknown(pods []Candidate) []schema.GroupKind {
	kinds := sets.Set[schema.GroupKind]{}
	for i := range pods {
		uid, by := t.topController(&pods[i])
		if by == nil || uid == t.workload {
			continue
		}
		if _, known := t.above[uid]; known {
			continue
		}
		kinds.Insert(schema.FromAPIVersionAndKind(by.APIVersion, by.Kind).GroupKind())
	}
	return slices.SortedFunc(maps.Keys(kinds), func(a, b schema.GroupKind) int { return strings.Compare(a.String(), b.String()) })
}

// topController returns the highest controller of a pod that is known, and how the one below it names it; nil if nothing controls
// the pod. What controls itself in a circle is given up on.
func (t *Tree) topController(pod *Candidate) (types.UID, *metav1.OwnerReference) {
	by := pod.controller
	for range maxBetween {
		if by == nil || by.UID == t.workload {
			break
		}
		next := t.above[by.UID]
		if next == nil {
			break
		}
		by = next
	}
	if by == nil {
		return "", nil
	}
	return by.UID, by
}
