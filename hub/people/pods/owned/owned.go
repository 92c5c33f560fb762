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

// maxBetween is how many controllers may be between a pod and its workload; a CronJob has a Job.
const maxBetween = 4

// Tree has the controllers of objects.
type Tree struct {
	workload types.UID
	above    map[types.UID]*metav1.OwnerReference
}

// NewTree returns a Tree for a workload.
func NewTree(workload types.UID) *Tree {
	return &Tree{workload: workload, above: map[types.UID]*metav1.OwnerReference{}}
}

// Add adds the controller of an object that may be between the workload and its pods.
func (t *Tree) Add(of metav1.Object) { t.above[of.GetUID()] = metav1.GetControllerOf(of) }

// Candidate is a pod that may belong to the workload. Of the pod it keeps only what people see, and its controller.
type Candidate struct {
	Pod

	controller *metav1.OwnerReference
}

// CandidateOf returns a pod as a Candidate.
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

// Unknown returns the sorted kinds of controllers whose own controller is not known yet.
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

// topController returns the highest known controller of a pod, and the reference to it; nil if the pod has no
// controller. It gives up on circles.
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
