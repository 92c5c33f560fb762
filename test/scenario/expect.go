package scenario

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// expect compares an expectation with the state.
func (w *world) expect(args []string) error {
	if len(args) < 1 {
		return fmt.Errorf("expect what?")
	}
	want := strings.Join(args[1:], " ")
	if w.members[args[0]] != nil {
		return same(args[0], want, w.state(args[0]))
	}
	a := w.apps[args[0]]
	if a == nil {
		return fmt.Errorf("there is no %q", args[0])
	}
	switch {
	case len(args) > 1 && args[1] == "runs":
		return same(a.name, want, strings.TrimSpace("runs "+w.running(a)))
	case len(args) > 1 && args[1] == "says":
		return same(a.name, want, "says "+evicting(a.binding))
	case len(args) > 2 && args[1] == "label":
		cluster, _, _ := strings.Cut(args[2], "=")
		state := ""
		if o := w.members[cluster].objects[a.name]; o != nil {
			state = o.state
		}
		return same(a.name, want, fmt.Sprintf("label %s=%s", cluster, state))
	default:
		return same(a.name, want, w.targets(a))
	}
}

func same(who, want, have string) error {
	if want == have {
		return nil
	}
	return fmt.Errorf("%s is %q, expected is %q", who, have, want)
}

func (w *world) state(cluster string) string {
	c := w.clusters[cluster]
	if c == nil {
		return "gone"
	}
	ready := meta.FindStatusCondition(c.Status.Conditions, clusterv1alpha1.ClusterReady)
	if ready == nil {
		return "new"
	}
	return string(ready.Status)
}

// targets returns the targets of the binding, and the clusters that it leaves.
func (w *world) targets(a *app) string {
	out := []string{}
	for _, t := range a.binding.Spec.Clusters {
		out = append(out, fmt.Sprintf("%s=%d", t.Name, t.Replicas))
	}
	slices.Sort(out)
	if tasks := a.binding.Spec.GracefulEvictionTasks; len(tasks) > 0 {
		leaving := []string{}
		for i := range tasks {
			leaving = append(leaving, tasks[i].FromCluster)
		}
		slices.Sort(leaving)
		out = append(append(out, "leaving"), leaving...)
	}
	return strings.Join(out, " ")
}

// running returns the replicas that are ready in the members.
func (w *world) running(a *app) string {
	out := []string{}
	for _, name := range names(w.members) {
		if o := w.members[name].objects[a.name]; o != nil && o.ready > 0 {
			out = append(out, fmt.Sprintf("%s=%d", name, o.ready))
		}
	}
	return strings.Join(out, " ")
}
