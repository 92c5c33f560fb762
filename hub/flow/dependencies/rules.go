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

// What a workload needs is what rules say, and those are in objects on the hub that may be absent for a moment: somebody replaces one by
// force, or a chart removes it and makes it again. Or it is there, and has rules for the version alone in which a policy sent the workload before. Then
// nothing answers for a kind any more, or others do who know less. That is no word on
// what the workload needs. So a binding notes who said it. As long as one of those is gone, what follows the workload already and is not
// named stays, until somebody says otherwise: by rules that are there, by an edit of the policy, or by deleting the binding of what stays.
// An edit that takes a rule out of an object which is still there is meant.

// maxKindsNamed is how many kinds are named for which an object has rules.
const maxKindsNamed = 3

// maxObjectsNamed is how many objects are named of those that do not follow a workload, or stay with it.
const maxObjectsNamed = 3

// answerersOf returns the objects with rules that say what the workload of a binding needs.
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

// tellOrphans says, once, what stays with a workload since the rules are gone by which it was needed.
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

// whyOrphaned says why nobody says any more what a workload needs, and what to do that somebody does.
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

// namesOf names the objects of some references, of many the first.
func namesOf(refs []configv1alpha1.DependentObjectReference) string {
	names := make([]string, len(refs))
	for i, ref := range refs {
		names[i] = fmt.Sprintf("%s %s", ref.Kind, strings.Trim(ref.Namespace+"/"+ref.Name, "/"))
	}
	return prose.Names(names, maxObjectsNamed)
}
