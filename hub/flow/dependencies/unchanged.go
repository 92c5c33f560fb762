package dependencies

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/dependencies/attach"
	"fairlead.dev/hub/flow/dependencies/plan"
)

// A binding records the dependencies of its workload, and in status.dependenciesOf what they were read from. If all of that is unchanged,
// as for most bindings after a restart, the template is not read, and the record is used. Nothing is attached or detached because of the
// record alone, since whoever may write bindings could forge both: if the attached bindings differ from the record, the template is read
// after all.
//
// The hash changes with every edit of a template, while the dependencies rarely do. So it is not written by itself: the status stage
// includes it in its next write of the clusters' reports. If that does not happen, the next start reads the template.

// unchanged returns the recorded dependencies of a binding's workload, and whether everything that they were read from is unchanged.
func (r *Reconciler) unchanged(b kube.Binding) ([]configv1alpha1.DependentObjectReference, bool) {
	of := r.dependenciesOf(b)
	if of == "" || of != b.BindingStatus().DependenciesOf {
		return nil, false
	}
	var refs []configv1alpha1.DependentObjectReference
	err := json.Unmarshal([]byte(noted(b)), &refs)
	return refs, err == nil
}

// dependenciesOf returns a hash of the recorded dependencies of a binding and of everything that they are read from. It is empty if a
// webhook is used, which may answer differently at any time, or if any of it is not known.
func (r *Reconciler) dependenciesOf(b kube.Binding) string {
	kind := plan.KindOf(b)
	if interpreter.AsksOthers(r.interpreter, kind, interpreter.InterpretDependency) {
		return ""
	}
	return attach.Origin{Program: r.program, Rules: interpreter.Version(r.interpreter, kind), Binding: b}.Digest()
}

// rememberOrigin lets the status stage write the origin of a binding's record. If the template was edited since the detector saw it, the
// fingerprint on the binding is not that of the template that was read, and nothing is written.
func (r *Reconciler) rememberOrigin(b kube.Binding, read reading) {
	of, fingerprint := r.dependenciesOf(b), b.GetAnnotations()[contract.TemplateFingerprintAnnotation]
	if r.deferred == nil || of == "" || of == b.BindingStatus().DependenciesOf || read.madeOf != fingerprint {
		r.dropOrigin(client.ObjectKeyFromObject(b))
		return
	}
	r.deferred.Defer(b, func(status *workv1alpha2.ResourceBindingStatus) { status.DependenciesOf = of })
}

// originWritten drops a deferred origin that the status of the binding has by now.
func (r *Reconciler) originWritten(before, now kube.Binding) {
	of := now.BindingStatus().DependenciesOf
	if of != "" && of != before.BindingStatus().DependenciesOf && of == r.dependenciesOf(now) {
		r.dropOrigin(client.ObjectKeyFromObject(now))
	}
}

// dropOrigin drops the deferred origin of a binding.
func (r *Reconciler) dropOrigin(key types.NamespacedName) {
	if r.deferred != nil {
		r.deferred.Drop(key)
	}
}
