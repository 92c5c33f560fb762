package pods

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// maxPods bounds how many pods that are not ready are kept, at a few hundred bytes each. If more are not ready, some
// workloads lack reasons.
const maxPods = 5000

// Store keeps why pods of the member are not ready. It is safe for concurrent use.
type Store struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// known says that all pods of the member were listed.
	known bool
	list  List
}

// List holds the pods that are not ready, by namespace and name.
type List struct {
	pods map[string]map[string]*pod
	kept int
}

// pod is what is kept of one pod.
type pod struct {
	// owner is the UID of the pod's controller, ownerName its name.
	owner     types.UID
	ownerName string
	labels    labels.Set
	reasons   []reason
}

// New returns a Store that knows no pods yet.
func New(c clock.PassiveClock) *Store { return &Store{clock: c, list: NewList()} }

// NewList returns an empty List.
func NewList() List { return List{pods: map[string]map[string]*pod{}} }

// Put adds or updates a pod.
func (l *List) Put(of *corev1.Pod) {
	l.Drop(of)
	reasons := reasonsOf(of)
	if len(reasons) == 0 || l.kept >= maxPods {
		return
	}
	fresh := &pod{labels: maps.Clone(of.Labels), reasons: reasons}
	if controller := metav1.GetControllerOfNoCopy(of); controller != nil {
		fresh.owner, fresh.ownerName = controller.UID, controller.Name
	}
	if l.pods[of.Namespace] == nil {
		l.pods[of.Namespace] = map[string]*pod{}
	}
	l.pods[of.Namespace][of.Name] = fresh
	l.kept++
}

// Drop removes a pod.
func (l *List) Drop(of *corev1.Pod) {
	pods := l.pods[of.Namespace]
	if _, ok := pods[of.Name]; !ok {
		return
	}
	delete(pods, of.Name)
	l.kept--
	if len(pods) == 0 {
		delete(l.pods, of.Namespace)
	}
}

// Put adds or updates a pod.
func (s *Store) Put(of *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list.Put(of)
}

// Drop removes a pod.
func (s *Store) Drop(of *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list.Drop(of)
}

// Replace replaces all pods by those of a new list.
func (s *Store) Replace(all List) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list, s.known = all, true
}

// Of returns why pods of a workload are not ready; known is false before all pods were listed. It works for every
// kind that owns pods directly or through one intermediate object, as a Deployment does through ReplicaSets.
func (s *Store) Of(workload *unstructured.Unstructured) (reasons []workv1alpha1.PodReason, known bool) {
	selector := selectorOf(workload)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.known {
		return nil, false
	}
	type key struct{ reason, container string }
	found := map[key]*workv1alpha1.PodReason{}
	now := s.clock.Now()
	for name, p := range s.list.pods[workload.GetNamespace()] {
		if !p.belongs(name, workload, selector) {
			continue
		}
		for i := range p.reasons {
			r := &p.reasons[i]
			if now.Before(r.from) {
				continue
			}
			k := key{r.Reason, r.Container}
			sum, ok := found[k]
			if !ok {
				found[k] = r.DeepCopy()
				continue
			}
			pods, restarts := sum.Pods+1, max(sum.Restarts, r.Restarts)
			if r.Pod < sum.Pod {
				*sum = *r.DeepCopy()
			}
			sum.Pods, sum.Restarts = pods, restarts
		}
	}
	for _, sum := range found {
		reasons = append(reasons, *sum)
	}
	slices.SortFunc(reasons, func(a, b workv1alpha1.PodReason) int {
		return cmp.Or(cmp.Compare(b.Pods, a.Pods), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Container, b.Container))
	})
	return reasons[:min(len(reasons), workv1alpha1.MaxPodReasons)], true
}

// belongs returns whether a pod belongs to a workload: its controller is the workload, or is named after it as
// ReplicaSets are after their Deployment, and then the workload's selector must match too. A selector alone does not
// count: the hub chooses it, and could ask about other pods.
func (p *pod) belongs(name string, workload *unstructured.Unstructured, selector labels.Selector) bool {
	if workload.GetKind() == "Pod" && workload.GroupVersionKind().Group == "" {
		return name == workload.GetName()
	}
	if p.owner == "" {
		return false
	}
	if p.owner == workload.GetUID() {
		return true
	}
	cut := strings.LastIndexByte(p.ownerName, '-')
	return cut > 0 && p.ownerName[:cut] == workload.GetName() && selector != nil && selector.Matches(p.labels)
}

// selectorOf returns the pod selector of a workload; nil if it has none, or one that selects everything.
func selectorOf(workload *unstructured.Unstructured) labels.Selector {
	raw, ok, err := unstructured.NestedMap(workload.Object, "spec", "selector")
	if !ok || err != nil {
		return nil
	}
	var selector metav1.LabelSelector
	if runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &selector) != nil {
		return nil
	}
	parsed, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil || parsed.Empty() {
		return nil
	}
	return parsed
}
