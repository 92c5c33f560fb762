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

// bounded returns a status without what is nested deeper than jsondepth.MaxStatus, and whether
// anything was. Nothing that is deeper leaves the member: a decoder that gives up over it would
// give up the list or watch of all Works with it.
func bounded(status *runtime.RawExtension) (*runtime.RawExtension, bool) {
	if status == nil || jsondepth.Of(status.Raw) <= jsondepth.MaxStatus {
		return status, false
	}
	// Of what is too deep the two brackets stay, and count as a level.
	cut, err := io.ReadAll(jsondepth.Limit(bytes.NewReader(status.Raw), jsondepth.MaxStatus-1))
	if err != nil {
		return nil, true
	}
	return &runtime.RawExtension{Raw: cut}, true
}

// cutCondition says of which objects a part of the status is left out.
func cutCondition(objects []string) metav1.Condition {
	slices.Sort(objects)
	return metav1.Condition{
		Type: workv1alpha1.WorkStatusCut, Status: metav1.ConditionTrue, Reason: workv1alpha1.ReasonNestedTooDeep,
		Message: prose.Cut(fmt.Sprintf("What is nested more than %d levels deep in the status of %s is left out here; have the controller that writes it make it flatter",
			jsondepth.MaxStatus, strings.Join(objects, ", ")), prose.OfCondition),
	}
}

// conditionsNow returns the conditions of a Work; those without a status are to be removed.
func (f *facts) conditionsNow() []metav1.Condition {
	var cut []string
	for _, id := range f.manifests {
		if o, seen := f.objects[nameless(id)]; seen && o.cut {
			cut = append(cut, describe(o.last))
		}
	}
	if len(cut) == 0 {
		return append(slices.Clone(f.conditions), metav1.Condition{Type: workv1alpha1.WorkStatusCut})
	}
	said := cutCondition(cut)
	said.ObservedGeneration = f.generation
	return append(slices.Clone(f.conditions), said)
}
