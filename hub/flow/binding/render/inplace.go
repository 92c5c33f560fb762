package render

import (
	"errors"
	"fmt"
	"maps"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
)

// NeedsRevision returns whether InPlace may change a Work, given without its manifest.
func NeedsRevision(in Input, live *workv1alpha1.Work) bool {
	spec := in.Binding.BindingSpec()
	if ptr.Deref(live.Spec.SuspendDispatching, false) != bindings.Suspended(spec.Suspension, in.Target.Name) ||
		ptr.Deref(live.Spec.PreserveResourcesOnDeletion, false) != in.preserved() {
		return true
	}
	if in.Revise == nil || !bindings.IsWorkload(spec) {
		return false
	}
	return !bindings.Divided(spec) || live.Annotations[contract.ReplicasAnnotation] != strconv.FormatInt(int64(in.Target.Replicas), 10)
}

// InPlace returns a Work, read whole, with the replicas and the suspension that it should have now, and otherwise unchanged. It is for
// Works whose origin is not known. It uses Binding, Preserved, Target and Revise of the input.
func InPlace(in Input, live *workv1alpha1.Work) (*workv1alpha1.Work, error) {
	if len(live.Spec.Workload.Manifests) != 1 {
		return nil, fmt.Errorf("the Work has %d manifests instead of one", len(live.Spec.Workload.Manifests))
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(live.Spec.Workload.Manifests[0].Raw); err != nil {
		return nil, fmt.Errorf("reading the manifest that is there: %w", err)
	}
	spec := in.Binding.BindingSpec()
	out := &workv1alpha1.Work{ObjectMeta: *live.ObjectMeta.DeepCopy()}
	out.Annotations = maps.Clone(live.Annotations)
	if out.Annotations == nil {
		return nil, errors.New("the Work does not say which binding it comes from")
	}
	// A hub that was killed between writing the intent and the deletion left it. The Work stays, and may be deleted for another reason
	// later.
	delete(out.Annotations, contract.DeletionIntentAnnotation)
	if in.Revise != nil && bindings.IsWorkload(spec) {
		revised, err := in.Revise(obj, in.Target.Replicas)
		if err != nil {
			return nil, fmt.Errorf("%w to %d: %w", ErrRevise, in.Target.Replicas, err)
		}
		obj = revised
		if bindings.Divided(spec) {
			out.Annotations[contract.ReplicasAnnotation] = strconv.FormatInt(int64(in.Target.Replicas), 10)
		}
	}
	manifest, err := encode(obj.Object)
	if err != nil {
		return nil, fmt.Errorf("encoding the manifest: %w", err)
	}
	out.Spec = workv1alpha1.WorkSpec{
		Workload: workv1alpha1.WorkloadTemplate{
			Manifests: []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: manifest}}},
		},
		SuspendDispatching:          new(bindings.Suspended(spec.Suspension, in.Target.Name)),
		PreserveResourcesOnDeletion: new(in.preserved()),
	}
	out.Annotations[contract.ManifestHashAnnotation] = hash(&out.Spec, manifest)
	return out, nil
}
