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

// A binding says what its workload needs, and in status.dependenciesOf what that was read from. While all of it is as it was, as for most
// bindings after a restart, the template is not read: what it needs is what the binding says. Nothing is attached or detached by that alone,
// since whoever writes bindings could write both: if something else follows the workload than what the binding says, the template
// is read after all.
//
// The hash changes with every edit of a template, and what that needs with few of them. So it is no write of its own: the status stage takes
// it along when it writes what the clusters report of the edit. If it does not, one start more reads the template.

// unchanged returns what a binding says that its workload needs, and whether it was read from what there is now.
func (r *Reconciler) unchanged(b kube.Binding) ([]configv1alpha1.DependentObjectReference, bool) {
	of := r.dependenciesOf(b)
	if of == "" || of != b.BindingStatus().DependenciesOf {
		return nil, false
	}
	var refs []configv1alpha1.DependentObjectReference
	err := json.Unmarshal([]byte(noted(b)), &refs)
	return refs, err == nil
}

// dependenciesOf returns a hash of what a binding says that its workload needs, and of what that is read from; empty if a webhook is
// asked, which may answer otherwise at any time, or if it is not known what there was read.
func (r *Reconciler) dependenciesOf(b kube.Binding) string {
	kind := plan.KindOf(b)
	if interpreter.AsksOthers(r.interpreter, kind, interpreter.InterpretDependency) {
		return ""
	}
	return attach.Origin{Program: r.program, Rules: interpreter.Version(r.interpreter, kind), Binding: b}.Digest()
}

// rememberOrigin has the status stage write on a binding what all that it says was read from.
// If the template was edited since the detector saw it, what was read is not what the fingerprint on the binding is of.
func (r *Reconciler) rememberOrigin(b kube.Binding, read reading) {
	of, fingerprint := r.dependenciesOf(b), b.GetAnnotations()[contract.TemplateFingerprintAnnotation]
	if r.deferred == nil || of == "" || of == b.BindingStatus().DependenciesOf || read.madeOf != fingerprint {
		r.dropOrigin(client.ObjectKeyFromObject(b))
		return
	}
	r.deferred.Defer(b, func(status *workv1alpha2.ResourceBindingStatus) { status.DependenciesOf = of })
}

// originWritten notes that the status of a binding says by now what waited to be written there.
func (r *Reconciler) originWritten(before, now kube.Binding) {
	of := now.BindingStatus().DependenciesOf
	if of != "" && of != before.BindingStatus().DependenciesOf && of == r.dependenciesOf(now) {
		r.dropOrigin(client.ObjectKeyFromObject(now))
	}
}

// dropOrigin forgets what waits to be written on a binding.
func (r *Reconciler) dropOrigin(key types.NamespacedName) {
	if r.deferred != nil {
		r.deferred.Drop(key)
	}
}
