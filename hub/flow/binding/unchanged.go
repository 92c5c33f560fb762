package binding

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/hub/flow/binding/fanout"
	"fairlead.dev/hub/flow/binding/render"
)

// findUnchanged finds the targets of a binding for which rendering would give the existing Works: their marks, or this process, say what
// they were rendered from, and all of that is unchanged. If that is so for all targets, as for most bindings after a restart, the template
// is not read.
//
// The template is identified by its fingerprint on the binding. If the detector has not seen its last change yet, that change is rendered
// later.
func (r *reconciler) findUnchanged(s *scope) error {
	fingerprint := s.fingerprint()
	digest, err := r.digest(s, fingerprint)
	if digest == nil || err != nil || fingerprint == "" {
		return err
	}
	for _, target := range s.targets {
		namespace := contract.ExecutionNamespace(r.prefix, target.Name)
		work, cluster := s.live[namespace], s.clusters[target.Name]
		if work == nil || cluster == nil || !work.DeletionTimestamp.IsZero() || !slices.Contains(work.Finalizers, contract.ExecutionFinalizer) ||
			s.suspect.Has(fanout.Key(work)) {
			continue
		}
		text, known := digest.Of(work, target, cluster), r.marks.of(work)
		switch text {
		case work.Annotations[contract.RenderedFromAnnotation]:
			s.unchanged.Insert(namespace)
			r.marks.forget(fanout.Key(work)) // any remembered mark is obsolete
		case known.text:
			s.unchanged.Insert(namespace)
			if known.write {
				s.outdated = append(s.outdated, outdated{work: work, mark: text})
			}
		}
	}
	return nil
}

// fingerprint returns the fingerprint of the template that the binding was made of.
func (s *scope) fingerprint() string {
	return s.binding.GetAnnotations()[contract.TemplateFingerprintAnnotation]
}

// madeOf returns the fingerprint of the template that was read.
func (r *reconciler) madeOf(s *scope) string {
	return bindings.MadeOf(s.template, interpreter.Version(r.interpreter, s.template.GroupVersionKind()))
}

// digest returns the hash of what the Works of a binding are rendered from, given the fingerprint of the template; nil if there is more to
// it: a rollout, replicas that are being purged elsewhere, or a webhook.
func (r *reconciler) digest(s *scope, madeOf string) (*render.Digest, error) {
	spec := s.binding.BindingSpec()
	kind := schema.FromAPIVersionAndKind(spec.Resource.APIVersion, spec.Resource.Kind)
	purges := slices.ContainsFunc(spec.GracefulEvictionTasks, func(t workv1alpha2.GracefulEvictionTask) bool {
		return t.PurgeMode.Canonical() == policyv1alpha1.PurgeDirectly
	})
	asked := []interpreter.Operation{interpreter.ReviseReplica}
	if len(s.quotas) > 0 {
		asked = append(asked, interpreter.InterpretReplica, interpreter.InterpretComponent) // see requestedBy
	}
	if r.program == "" || len(s.rollouts) > 0 || purges ||
		slices.ContainsFunc(asked, func(op interpreter.Operation) bool { return interpreter.AsksOthers(r.interpreter, kind, op) }) {
		return nil, nil //nolint:nilnil // there is none
	}
	out, err := render.Origin{
		Program: r.program, Template: madeOf, Rules: interpreter.Version(r.interpreter, kind), Binding: s.binding, Overrides: s.overrides(),
		Quota: s.quota(),
	}.Digest()
	return &out, err
}

// quota returns what the check of a Work's requests depends on, see withinQuotas; nil without quotas.
func (s *scope) quota() *render.Quota {
	if len(s.quotas) == 0 {
		return nil
	}
	return &render.Quota{Resources: sets.List(boundBy(s.quotas)), Admitted: s.binding.GetAnnotations()[contract.AdmittedRequestsAnnotation]}
}

// overrides identifies the override policies that may apply to the template, in a fixed order.
func (s *scope) overrides() []string {
	var out []string
	name := func(kind, namespace, name string, uid any, generation int64) {
		out = append(out, fmt.Sprintf("%s %s/%s %v %d", kind, namespace, name, uid, generation))
	}
	for i := range s.policies.Cluster {
		p := &s.policies.Cluster[i]
		name("ClusterOverridePolicy", "", p.Name, p.UID, p.Generation)
	}
	for i := range s.policies.Namespaced {
		p := &s.policies.Namespaced[i]
		name("OverridePolicy", p.Namespace, p.Name, p.UID, p.Generation)
	}
	slices.Sort(out)
	return out
}
