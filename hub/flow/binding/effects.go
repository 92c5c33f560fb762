package binding

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/common/override"
	"fairlead.dev/common/prose"
)

// overrideNote is a sentence about an override policy, and the reason of the event for it.
type overrideNote struct{ reason, text string }

// overrideNotes returns sentences about the override policies that were applied according to a Work, and about overriders without effect
// that are no mistake.
func overrideNotes(prefix string, s *scope, w *workv1alpha1.Work) []overrideNote {
	cluster, _ := contract.ClusterOf(prefix, w.Namespace)
	ofCluster, ofNamespace := override.Read(w.Annotations)
	var out []overrideNote
	for _, a := range ofCluster {
		if !a.Ineffective {
			out = append(out, overrideNote{reasonOverridden, fmt.Sprintf("Apply cluster override policy(%s) for cluster(%s) succeed.", a.PolicyName, cluster)})
		}
	}
	for _, a := range ofNamespace {
		if !a.Ineffective {
			out = append(out, overrideNote{reasonOverridden, fmt.Sprintf("Apply override policy(%s/%s) for cluster(%s) succeed.",
				s.binding.BindingSpec().Resource.Namespace, a.PolicyName, cluster)})
		}
	}
	_, others := s.withoutEffect(w)
	for _, why := range others {
		out = append(out, overrideNote{reasonWithoutEffect, changesNothing([]string{cluster}, why)})
	}
	return out
}

// withoutEffect returns clauses about the overriders that found nothing to change in the object of a Work. That is a mistake if their
// policy selects only that object. A policy for several objects may be meant for those that have the field.
func (s *scope) withoutEffect(w *workv1alpha1.Work) (mistakes, others []string) {
	ofCluster, ofNamespace := override.Read(w.Annotations)
	sort := func(applied []override.Applied, kind string, isMeant func(name string) bool) {
		for i := range applied {
			if isMeant(applied[i].PolicyName) {
				mistakes = append(mistakes, applied[i].Clauses(kind)...)
			} else {
				others = append(others, applied[i].Clauses(kind)...)
			}
		}
	}
	sort(ofCluster, "ClusterOverridePolicy", func(name string) bool {
		return slices.ContainsFunc(s.policies.Cluster, func(p policyv1alpha1.ClusterOverridePolicy) bool {
			return p.Name == name && s.isOnlyNamed(p.Spec.ResourceSelectors, "")
		})
	})
	sort(ofNamespace, "OverridePolicy", func(name string) bool {
		return slices.ContainsFunc(s.policies.Namespaced, func(p policyv1alpha1.OverridePolicy) bool {
			return p.Name == name && s.isOnlyNamed(p.Spec.ResourceSelectors, p.Namespace)
		})
	})
	return mistakes, others
}

// isOnlyNamed returns whether the selectors of a policy name the template and nothing else. A selector without a namespace means the
// policy's namespace; in a policy without a namespace, it means every object of that name.
func (s *scope) isOnlyNamed(selectors []policyv1alpha1.ResourceSelector, namespace string) bool {
	ref := &s.binding.BindingSpec().Resource
	return len(selectors) > 0 && !slices.ContainsFunc(selectors, func(of policyv1alpha1.ResourceSelector) bool {
		return of.APIVersion != ref.APIVersion || of.Kind != ref.Kind || of.Name != ref.Name || cmp.Or(of.Namespace, namespace) != ref.Namespace
	})
}

// warnWithoutEffect warns the author of a template, after a write, about overriders without effect that are a mistake, once for each change
// of these.
func (r *reconciler) warnWithoutEffect(s *scope, written []*workv1alpha1.Work) {
	if len(written) == 0 {
		return
	}
	works := maps.Clone(s.live)
	maps.Copy(works, byNamespace(written))
	type applied struct{ cluster, namespaced string } // most clusters have the same policies
	known, clusters := map[applied][]string{}, map[string][]string{}
	for _, target := range s.targets {
		w := works[contract.ExecutionNamespace(r.prefix, target.Name)]
		has := applied{annotation(w, contract.AppliedClusterOverridesAnnotation), annotation(w, contract.AppliedOverridesAnnotation)}
		if has == (applied{}) {
			continue
		}
		mistakes, ok := known[has]
		if !ok {
			mistakes, _ = s.withoutEffect(w)
			known[has] = mistakes
		}
		for _, why := range mistakes {
			clusters[why] = append(clusters[why], target.Name)
		}
	}
	key, whys := client.ObjectKeyFromObject(s.binding), slices.Sorted(maps.Keys(clusters))
	if len(whys) == 0 {
		r.warned.Resolved(key, reasonWithoutEffect)
		return
	}
	if !r.warned.IsNew(key, reasonWithoutEffect, strings.Join(whys, "\n")) {
		return
	}
	notes := make([]string, len(whys))
	for i, why := range whys {
		notes[i] = changesNothing(clusters[why], why)
	}
	r.events(eventsink.Event{
		Regarding: bindings.TemplateRef(s.binding), Type: corev1.EventTypeWarning, Reason: reasonWithoutEffect, Action: actionOverride, Note: strings.Join(notes, " "),
	})
}

// changesNothing returns the sentence about an overrider without effect.
func changesNothing(clusters []string, why string) string {
	if len(clusters) == 1 {
		return fmt.Sprintf("An override changes nothing for cluster %q: %s.", clusters[0], why)
	}
	return fmt.Sprintf("An override changes nothing for clusters %s: %s.", prose.Names(clusters, maxNamed), why)
}
