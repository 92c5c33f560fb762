package applications

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/hub/flow/detector/claim"
)

// Of returns the application of a binding. It changes neither argument.
func Of(b workv1alpha2.Binding, clusters Clusters) Application {
	spec := b.BindingSpec()
	a := Application{
		Template: Template{
			APIVersion: spec.Resource.APIVersion, Kind: spec.Resource.Kind, Namespace: spec.Resource.Namespace, Name: spec.Resource.Name,
		},
		Binding:  b.GetName(),
		Policy:   PolicyOf(b),
		Replicas: spec.Replicas,
		Places:   places(b, clusters),
		Since:    b.GetCreationTimestamp().Time,
	}
	for _, s := range bindings.Snapshots(spec) {
		a.Follows = append(a.Follows, s.Namespace+"/"+s.Name)
	}
	a.Counts = count(a.Places)
	a.State, a.Why = worstState(b, &a)
	return a
}

// PolicyOf returns the policy that claims a template or a binding; empty if none does.
func PolicyOf(obj metav1.Object) PolicyKey {
	by, ok := claim.On(obj)
	switch {
	case !ok:
		return PolicyKey{}
	case by.Namespace == "":
		return PolicyKey{Kind: policyv1alpha1.KindClusterPropagationPolicy, Name: by.Name}
	default:
		return PolicyKey{Kind: policyv1alpha1.KindPropagationPolicy, Namespace: by.Namespace, Name: by.Name}
	}
}

func count(places []Place) Counts {
	var n Counts
	for _, p := range places {
		if p.Leaving {
			n.Leaving++
			continue
		}
		n.Wanted++
		n.Ready += countIf(p.Applied && p.Health == healthy && !p.Stale)
		n.Applied += countIf(p.Applied)
		n.Healthy += countIf(p.Health == healthy)
		n.Unhealthy += countIf(p.Health == unhealthy)
		n.Failing += countIf(p.refused())
		n.Stale += countIf(p.Stale)
	}
	return n
}

func countIf(is bool) int {
	if is {
		return 1
	}
	return 0
}

// worstState returns the worst state, and a sentence about it.
func worstState(b workv1alpha2.Binding, a *Application) (State, string) {
	if b.GetDeletionTimestamp() != nil {
		return Deleting, "It is being removed from its clusters."
	}
	scheduled := meta.FindStatusCondition(b.BindingStatus().Conditions, workv1alpha2.BindingScheduled)
	if scheduled != nil && scheduled.Status == metav1.ConditionFalse {
		// A cluster that refuses the object would be worse.
		if a.Failing == 0 {
			return Unscheduled, scheduled.Message
		}
	}
	if a.Wanted == 0 && a.Leaving == 0 {
		if scheduled != nil && scheduled.Status == metav1.ConditionTrue {
			return Unscheduled, "No cluster is chosen; see `hub explain`."
		}
		return Waiting, "It waits for its clusters to be chosen."
	}
	if rendered := meta.FindStatusCondition(b.BindingStatus().Conditions, workv1alpha2.BindingRendered); rendered != nil && a.Failing == 0 {
		if rendered.Reason == workv1alpha2.ReasonNamespaceTerminating {
			return Deleting, rendered.Message
		}
		return Failing, rendered.Message
	}
	evicting := meta.FindStatusCondition(b.BindingStatus().Conditions, workv1alpha2.BindingEvicting)
	leaving := a.leavingState(evicting)
	if evicting != nil && leaving != Healthy && a.Failing+a.Unhealthy+a.Stale == 0 {
		return leaving, evicting.Message
	}
	if rolling := meta.FindStatusCondition(b.BindingStatus().Conditions, workv1alpha2.BindingRollingOut); rolling != nil &&
		rolling.Status == metav1.ConditionTrue && a.Failing+a.Unhealthy+a.Stale == 0 {
		return RollingOut, rolling.Message
	}
	for _, state := range States() {
		first, others := firstIn(a.Places, state)
		switch {
		case first == nil:
		case state == Moving && evicting != nil:
			return leaving, evicting.Message
		case state == Moving:
			return leaving, sentence(first, others)
		default:
			return state, sentence(first, others)
		}
	}
	return Healthy, ""
}

// firstIn returns the first place in a state that needs attention, and how many others there are.
func firstIn(places []Place, state State) (first *Place, others int) {
	if state == Healthy {
		return nil, 0
	}
	for i := range places {
		switch {
		case places[i].State != state:
		case first == nil:
			first = &places[i]
		default:
			others++
		}
	}
	return first, others
}

func sentence(p *Place, others int) string {
	out := p.Cluster + ": " + cmp.Or(p.Why, string(p.State))
	if others > 0 {
		out += fmt.Sprintf(" (and %d more)", others)
	}
	return out
}

// Compare orders applications by namespace, kind and name.
func Compare(a, b Application) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

// CompareBySeverity orders applications by state, the worst first, and then like Compare.
func CompareBySeverity(a, b Application) int {
	all := States()
	return cmp.Or(cmp.Compare(slices.Index(all, a.State), slices.Index(all, b.State)), Compare(a, b))
}
