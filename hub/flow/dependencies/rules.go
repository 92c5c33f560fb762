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
)

// What a workload needs is what rules say, and those are in objects on the hub that may be absent for a moment: somebody replaces one by
// force, or a chart removes it and makes it again. Then nothing answers for a kind any more, or others do who know less. That is no word on
// what the workload needs. So a binding notes who said it. As long as one of those is gone, what follows the workload already and is not
// named stays, until somebody says otherwise: by rules that are there, by an edit of the policy, or by deleting the binding of what stays.
// An edit that takes a rule out of an object which is still there is meant.

// answerers are the objects with rules that say what a workload needs, each as KIND/NAME.
type answerers struct {
	// there are those that answer, and those that did and are still there.
	there []string
	// gone are those that did and are not there any more.
	gone []string
	// unknown says that nothing answers, and that it is not known whether anything did: a hub of before did not note it.
	unknown bool
}

// answerersOf returns those of the workload of a binding.
func (r *Reconciler) answerersOf(b kube.Binding) answerers {
	kind := kindOf(b)
	all, answering := interpreter.Sources(r.interpreter, kind, interpreter.InterpretDependency)
	out := answerers{there: slices.Clone(answering)}
	noted := b.GetAnnotations()[contract.DependenciesByAnnotation]
	if noted == "" {
		out.unknown = !r.interpreter.Has(kind, interpreter.InterpretDependency)
		return out
	}
	for source := range strings.SplitSeq(noted, ",") {
		if slices.Contains(all, source) {
			out.there = append(out.there, source)
		} else {
			out.gone = append(out.gone, source)
		}
	}
	return out
}

// orphans returns, beside what is named, what follows a workload already since one said so who is gone.
func (a answerers) orphans(named []configv1alpha1.DependentObjectReference, attached []kube.Binding) []configv1alpha1.DependentObjectReference {
	if len(a.gone) == 0 && !a.unknown {
		return nil
	}
	return unnamed(named, attached)
}

// noted is what the binding of the workload is to say: that somebody is gone as long as anything stays for that.
func (a answerers) noted(orphans []configv1alpha1.DependentObjectReference) string {
	out := slices.Clone(a.there)
	if len(orphans) > 0 {
		out = append(out, a.gone...)
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ",")
}

// tellOrphans says, once, what stays with a workload since the rules are gone by which it was needed.
func (r *Reconciler) tellOrphans(req request, b kube.Binding, by answerers, orphans []configv1alpha1.DependentObjectReference) {
	if len(orphans) == 0 {
		r.warned.Resolved(req, reasonRulesGone)
		return
	}
	why := "no rule says any more what this kind needs"
	if len(by.gone) > 0 {
		why = strings.Join(by.gone, ", ") + ", which said so, is gone"
	}
	first := orphans[0]
	note := fmt.Sprintf("%s: that this object needs it is not said any more, since %s. It stays where it is, and is not looked for in later edits. Make the rules "+
		"again; or, if nothing else needs it and no policy has it, delete its binding, which takes it from the clusters: kubectl delete %s %s",
		namesOf(orphans), why, strings.ToLower(kindFor(request{Namespace: first.Namespace}).Kind), contract.BindingName(first.Kind, first.Name))
	if first.Namespace != "" {
		note += " -n " + first.Namespace
	}
	if r.warned.IsNew(req, reasonRulesGone, note) {
		r.events(kube.Event{
			Regarding: bindings.TemplateRef(b), Type: corev1.EventTypeWarning, Reason: reasonRulesGone, Action: actionGetDependencies, Note: note,
		})
	}
}

// namesOf names the objects of some references, of many the first.
func namesOf(refs []configv1alpha1.DependentObjectReference) string {
	const named = 3
	var names []string
	for _, ref := range refs[:min(named, len(refs))] {
		names = append(names, fmt.Sprintf("%s %s", ref.Kind, strings.Trim(ref.Namespace+"/"+ref.Name, "/")))
	}
	if more := len(refs) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
