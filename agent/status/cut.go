package status

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/jsondepth"
	"fairlead.dev/common/prose"
)

// bounded returns a status without values nested deeper than jsondepth.MaxStatus, and whether there were any. Nothing
// deeper leaves the member: a decoder that refuses it would refuse the whole list or watch of Works with it.
func bounded(status *runtime.RawExtension) (*runtime.RawExtension, bool) {
	if status == nil || jsondepth.Of(status.Raw) <= jsondepth.MaxStatus {
		return status, false
	}
	// A cut value leaves its two brackets, which count as one level.
	cut, err := io.ReadAll(jsondepth.Limit(bytes.NewReader(status.Raw), jsondepth.MaxStatus-1))
	if err != nil {
		return nil, true
	}
	return &runtime.RawExtension{Raw: cut}, true
}

// tooLarge returns the manifests, by ordinal, whose statuses do not fit into the room of their Work. The hub refuses
// a report that is too large, and would not learn about the other objects either.
func (f *facts) tooLarge() map[int]bool {
	out, room := map[int]bool{}, workv1alpha1.StatusRoom(workv1alpha1.MaxStatuses)
	for ordinal, id := range f.manifests {
		if o, seen := f.objects[nameless(id)]; seen && o.status != nil && !room.Take(len(o.status.Raw)) {
			out[ordinal] = true
		}
	}
	return out
}

// cutCondition says which objects' statuses were cut, or left out completely.
func cutCondition(deep, large []string) metav1.Condition {
	slices.Sort(deep)
	slices.Sort(large)
	out := metav1.Condition{Type: workv1alpha1.WorkStatusCut, Status: metav1.ConditionTrue, Reason: workv1alpha1.ReasonNestedTooDeep}
	var texts []string
	if len(large) > 0 {
		out.Reason = workv1alpha1.ReasonTooLarge
		texts = append(texts, fmt.Sprintf("The status of %s is left out here, because there is room for %d KiB only; the controller that writes it should keep it shorter",
			strings.Join(large, ", "), workv1alpha1.MaxStatuses>>10))
	}
	if len(deep) > 0 {
		texts = append(texts, fmt.Sprintf("Values that are nested more than %d levels deep in the status of %s are left out here; the controller that writes it should make it flatter",
			jsondepth.MaxStatus, strings.Join(deep, ", ")))
	}
	out.Message = prose.Cut(strings.Join(texts, ". "), prose.OfCondition)
	return out
}

// conditionsNow returns the conditions of a Work; those without a status are to be removed.
func (f *facts) conditionsNow() []metav1.Condition {
	var deep, large []string
	beyond := f.tooLarge()
	for ordinal, id := range f.manifests {
		switch o, seen := f.objects[nameless(id)]; {
		case !seen:
		case beyond[ordinal]:
			large = append(large, describe(o.last))
		case o.cut:
			deep = append(deep, describe(o.last))
		}
	}
	if len(deep)+len(large) == 0 {
		return append(slices.Clone(f.conditions), metav1.Condition{Type: workv1alpha1.WorkStatusCut})
	}
	condition := cutCondition(deep, large)
	condition.ObservedGeneration = f.generation
	return append(slices.Clone(f.conditions), condition)
}
