package dependencies

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/common/prose"
	"fairlead.dev/hub/flow/dependencies/plan"
)

// The dependencies of a workload come from rules, and rules are in objects on the hub that may be missing for a moment: they are replaced
// by force, or a chart deletes and creates them. Or the object exists, but has rules only for the version in which a policy selected the
// workload before. Then there are no rules for a kind any more, or only rules that know less. That says nothing about what the workload
// needs. So a binding records whose rules were used. While one of these objects is gone, attached objects that are not named any more stay,
// until they are detached on purpose: by rules that exist, by an edit of the policy, or by deleting their binding. Removing a rule from an
// object that still exists is such a purpose.

// maxKindsNamed is how many kinds are named for which an object has rules.
const maxKindsNamed = 3

// maxObjectsNamed is how many objects are named that are not attached to a workload, or stay attached.
const maxObjectsNamed = 3

// answerersOf returns the objects whose rules say what the workload of a binding needs.
func (r *Reconciler) answerersOf(b kube.Binding) plan.Answerers {
	kind := plan.KindOf(b)
	all, answering := interpreter.Sources(r.interpreter, kind, interpreter.InterpretDependency)
	out := plan.Answerers{There: slices.Clone(answering)}
	noted := b.GetAnnotations()[contract.DependenciesByAnnotation]
	if noted == "" {
		out.Unknown = !r.interpreter.Has(kind, interpreter.InterpretDependency)
		return out
	}
	for source := range strings.SplitSeq(noted, ",") {
		if slices.Contains(all, source) {
			out.There = append(out.There, source)
		} else if _, exists := interpreter.RulesOf(r.interpreter, source); exists {
			out.Others = append(out.Others, source)
		} else {
			out.Gone = append(out.Gone, source)
		}
	}
	return out
}

// tellOrphans reports once what stays attached to a workload because the rules that named it are gone.
func (r *Reconciler) tellOrphans(req request, b kube.Binding, needs plan.Needs) {
	orphans := needs.Orphans
	if len(orphans) == 0 {
		r.warned.Resolved(req, reasonRulesGone)
		return
	}
	why, mend := r.whyOrphaned(b, needs.By)
	first := orphans[0]
	note := fmt.Sprintf("%s: no rule says any more that this object needs it, since %s. It stays in its clusters, and later edits of this object are not searched for it. %s; "+
		"or, if nothing else needs it and no policy has it, delete its binding, which removes it from the clusters: kubectl delete %s %s",
		namesOf(orphans), why, mend, strings.ToLower(kindFor(request{Namespace: first.Namespace}).Kind), contract.BindingName(first.Kind, first.Name))
	if first.Namespace != "" {
		note += " -n " + first.Namespace
	}
	if r.warned.IsNew(req, reasonRulesGone, note) {
		r.events(eventsink.Event{
			Regarding: bindings.TemplateRef(b), Type: corev1.EventTypeWarning, Reason: reasonRulesGone, Action: actionGetDependencies, Note: note,
		})
	}
}

// whyOrphaned returns why no rules name the objects any more, and what to do.
func (r *Reconciler) whyOrphaned(b kube.Binding, by plan.Answerers) (why, mend string) {
	ref := b.BindingSpec().Resource
	now := fmt.Sprintf("%s of %s", ref.Kind, ref.APIVersion)
	const again = "Make the rules again"
	var reasons, mends []string
	if len(by.Gone) > 0 {
		reasons, mends = append(reasons, strings.Join(by.Gone, ", ")+", which said so, is gone"), append(mends, again)
	}
	for _, source := range by.Others {
		kinds, _ := interpreter.RulesOf(r.interpreter, source)
		reasons = append(reasons, fmt.Sprintf("the object is sent as %s, and %s, which said so, has rules only for %s", now, source, prose.Names(kinds, maxKindsNamed)))
	}
	if len(by.Others) > 0 {
		mends = append(mends, fmt.Sprintf("Make rules for %s as well", now))
	}
	if len(reasons) == 0 {
		return "no rule says any more what this kind needs", again
	}
	return strings.Join(reasons, ", and "), strings.Join(mends, ", or ")
}

// namesOf returns the names of the objects of some references; of many, the first ones.
func namesOf(refs []configv1alpha1.DependentObjectReference) string {
	names := make([]string, len(refs))
	for i, ref := range refs {
		names[i] = fmt.Sprintf("%s %s", ref.Kind, strings.Trim(ref.Namespace+"/"+ref.Name, "/"))
	}
	return prose.Names(names, maxObjectsNamed)
}
