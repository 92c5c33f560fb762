package binding

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/hub/flow/binding/render"
)

// unchanged says whether rendering a binding would come to the Works that there are: they say what they were rendered
// from, and all of that is as it was. Then its template is not read. Most bindings are like this after a restart.
//
// The template is known by its fingerprint on the binding. If the detector has not seen its last change yet, that is
// rendered once it has.
func (r *reconciler) unchanged(s *scope) (bool, error) {
	if len(s.suspect) > 0 {
		return false, nil
	}
	fingerprint := s.binding.GetAnnotations()[contract.TemplateFingerprintAnnotation]
	digest, err := r.digest(s, fingerprint)
	if digest == nil || err != nil || fingerprint == "" {
		return false, err
	}
	live := s.live
	for _, target := range s.targets {
		work, cluster := live[contract.ExecutionNamespace(r.prefix, target.Name)], s.clusters[target.Name]
		if work == nil || cluster == nil || !work.DeletionTimestamp.IsZero() || !slices.Contains(work.Finalizers, contract.ExecutionFinalizer) ||
			work.Annotations[contract.RenderedFromAnnotation] != digest.Of(work, cluster) {
			return false, nil
		}
	}
	return true, nil
}

// marks returns what notes on a rendered Work what it was rendered from; nil if that cannot be told.
func (r *reconciler) marks(s *scope) (func(*workv1alpha1.Work, workv1alpha2.TargetCluster), error) {
	digest, err := r.digest(s, bindings.MadeOf(s.template, interpreter.Version(r.interpreter, s.template.GroupVersionKind())))
	if digest == nil || err != nil {
		return nil, err
	}
	return func(work *workv1alpha1.Work, target workv1alpha2.TargetCluster) {
		work.Annotations[contract.RenderedFromAnnotation] = digest.Of(work, s.clusters[target.Name])
	}, nil
}

// digest returns the hash of what the Works of a binding are rendered from, given what it is made of; nil if that is
// not all: a rollout has the say, what may be requested, or replicas that leave elsewhere; or a webhook is asked.
func (r *reconciler) digest(s *scope, madeOf string) (*render.Digest, error) {
	spec := s.binding.BindingSpec()
	kind := schema.FromAPIVersionAndKind(spec.Resource.APIVersion, spec.Resource.Kind)
	purges := slices.ContainsFunc(spec.GracefulEvictionTasks, func(t workv1alpha2.GracefulEvictionTask) bool {
		return t.PurgeMode.Canonical() == policyv1alpha1.PurgeDirectly
	})
	if r.program == "" || len(s.rollouts) > 0 || len(s.quotas) > 0 || purges || interpreter.AsksOthers(r.interpreter, kind, interpreter.ReviseReplica) {
		return nil, nil //nolint:nilnil // There is none.
	}
	out, err := render.Origin{
		Program: r.program, Template: madeOf, Rules: interpreter.Version(r.interpreter, kind), Binding: s.binding, Overrides: s.overrides(),
	}.Digest()
	return &out, err
}

// overrides names the override policies that may be about the template, in the order in which they are listed.
func (s *scope) overrides() []string {
	var out []string
	name := func(kind, namespace, name string, uid any, generation int64) {
		out = append(out, fmt.Sprintf("%s %s/%s %v %d", kind, namespace, name, uid, generation))
	}
	for i := range s.policies.Cluster {
		if p := &s.policies.Cluster[i]; concerns(p, s.binding) {
			name("ClusterOverridePolicy", "", p.Name, p.UID, p.Generation)
		}
	}
	for i := range s.policies.Namespaced {
		if p := &s.policies.Namespaced[i]; concerns(p, s.binding) {
			name("OverridePolicy", p.Namespace, p.Name, p.UID, p.Generation)
		}
	}
	slices.Sort(out)
	return out
}
