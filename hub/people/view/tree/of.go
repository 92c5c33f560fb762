package tree

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/people/view/applications"
)

// Input has the objects of one application. None of them is changed.
type Input struct {
	App     applications.Application
	Binding workv1alpha2.Binding
	// Works are the Works by cluster. A cluster may have none yet.
	Works map[string][]workv1alpha1.Work
}

// Of returns the tree of an application, starting with its template.
func Of(in Input) Node {
	a := in.App
	root := Node{Kind: a.Kind, Name: named(a.Namespace, a.Name), State: a.State, Note: a.Why}
	binding := Node{Kind: "ResourceBinding", Name: named(in.Binding.GetNamespace(), in.Binding.GetName()), Note: verdicts(in.Binding)}
	if in.Binding.GetNamespace() == "" {
		binding.Kind = "ClusterResourceBinding"
	}
	for _, p := range a.Places {
		binding.Next = append(binding.Next, cluster(p, in.Works[p.Cluster])...)
	}
	switch {
	case a.Policy.Name != "":
		root.Next = []Node{{Kind: a.Policy.Kind, Name: named(a.Policy.Namespace, a.Policy.Name), Next: []Node{binding}}}
	case len(a.Follows) > 0:
		root.Next = []Node{{Kind: "Binding", Name: strings.Join(a.Follows, ", "), Note: "needs it, and sends it along", Next: []Node{binding}}}
	default:
		root.Next = []Node{binding}
	}
	return root
}

func named(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// verdicts summarizes the conditions of a binding.
func verdicts(b workv1alpha2.Binding) string {
	var out []string
	bad := []string{workv1alpha2.BindingEvicting, workv1alpha2.BindingDependencyPolicyConflict, workv1alpha2.BindingDependenciesLeftOut}
	for _, kind := range slices.Concat([]string{workv1alpha2.BindingScheduled, workv1alpha2.BindingRendered, workv1alpha2.BindingFullyApplied}, bad) {
		switch c := meta.FindStatusCondition(b.BindingStatus().Conditions, kind); {
		case c == nil:
		case c.Status == metav1.ConditionTrue && !slices.Contains(bad, kind):
			out = append(out, kind)
		default:
			out = append(out, fmt.Sprintf("%s=%s: %s", kind, c.Status, c.Message))
		}
	}
	return strings.Join(out, "; ")
}

// cluster returns the steps in one cluster.
func cluster(p applications.Place, works []workv1alpha1.Work) []Node {
	if len(works) == 0 {
		return []Node{{Kind: "Work", Name: "(none yet)", Cluster: p.Cluster, State: p.State, Note: p.Why}}
	}
	var out []Node
	for i := range works {
		w := &works[i]
		n := Node{Kind: "Work", Name: named(w.Namespace, w.Name), Cluster: p.Cluster, State: p.State, Note: p.Why}
		if w.DeletionTimestamp != nil {
			n.State, n.Note = applications.Deleting, "The agent has yet to remove it."
		}
		n.Next = members(w, p)
		out = append(out, n)
	}
	return out
}

// members returns the objects of a Work, as they are in the member.
func members(w *workv1alpha1.Work, p applications.Place) []Node {
	seen := map[string]*workv1alpha1.ManifestStatus{}
	for i := range w.Status.ManifestStatuses {
		m := &w.Status.ManifestStatuses[i]
		seen[key(m.Identifier.Kind, m.Identifier.Namespace, m.Identifier.Name)] = m
	}
	var out []Node
	for i := range w.Spec.Workload.Manifests {
		var object metav1.PartialObjectMetadata
		if json.Unmarshal(w.Spec.Workload.Manifests[i].Raw, &object) != nil {
			continue // `hub diff` reports it
		}
		n := Node{Kind: object.Kind, Name: named(object.Namespace, object.Name), Cluster: p.Cluster, State: applications.Waiting, Note: "not reported yet"}
		if m := seen[key(object.Kind, object.Namespace, object.Name)]; m != nil {
			n.State, n.Note = health(m.Health), applications.Summary(m.Status)
			if len(m.PodReasons) > 0 {
				n.Note = strings.TrimPrefix(n.Note+"; "+applications.Unready(&m.PodReasons[0]), "; ")
			}
			if p.Stale {
				n.State = applications.Stale
			}
		}
		out = append(out, n)
	}
	return out
}

func key(kind, namespace, name string) string { return kind + " " + named(namespace, name) }

func health(h workv1alpha1.ResourceHealth) applications.State {
	switch h {
	case workv1alpha1.Healthy:
		return applications.Healthy
	case workv1alpha1.Unhealthy:
		return applications.Unhealthy
	default:
		return applications.Waiting
	}
}
