package applications

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// State is the worst state of an application in any of its clusters. The values are shown to people and in `-o json`.
type State string

// The states, the worst first.
const (
	// Failing means that a cluster refuses the object.
	Failing State = "Failing"
	// Unscheduled means that no cluster was found for it.
	Unscheduled State = "Unscheduled"
	// Unhealthy means that it was applied, and is not healthy in some cluster.
	Unhealthy State = "Unhealthy"
	// Stale : a cluster that is to have it is not heard from; what is shown of it is old. So it is of an application that waits for silent
	// clusters before it is anywhere else.
	Stale State = "Stale"
	// Waiting means that some cluster has yet to report.
	Waiting State = "Waiting"
	// Suspended means that its dispatching is suspended.
	Suspended State = "Suspended"
	// Moving means that it is leaving a cluster.
	Moving State = "Moving"
	// RollingOut means that a change is being rolled out in waves, or is held up.
	RollingOut State = "RollingOut"
	// Deleting means that its template is gone and its copies are being deleted, or that its namespace is being
	// deleted.
	Deleting State = "Deleting"
	// Healthy : each cluster that is to have it has it, and it is healthy there. A silent cluster that it left may still have a copy.
	Healthy State = "Healthy"
)

// States returns all states, the worst first.
func States() []State {
	return []State{Failing, Unscheduled, Unhealthy, Stale, Waiting, Suspended, Moving, RollingOut, Deleting, Healthy}
}

// Application is a template that a policy propagates, or that is attached to one.
type Application struct {
	Template
	// Binding is the name of its binding, in the namespace of the template.
	Binding string `json:"binding"`
	// Policy is the policy that claims the template; empty if none does, because the template is attached to others or
	// its policy was just deleted.
	Policy PolicyKey `json:"policy"`
	// Follows are the bindings that it is attached to, as namespace/name.
	Follows []string `json:"follows,omitempty"`
	// State is the worst state that it is in, and Why a sentence about that. Of one that is healthy Why tells
	// of a copy that silent clusters keep until they are heard from; else it is empty.
	State State  `json:"state"`
	Why   string `json:"why,omitempty"`
	// Replicas are the replicas in the template; 0 for kinds without.
	Replicas int32 `json:"replicas,omitempty"`
	Counts
	// Places has an entry for each cluster that has it or should, sorted by name.
	Places []Place `json:"clusters"`
	// Since is when its binding was created.
	Since time.Time `json:"since"`
}

// Template identifies the template.
type Template struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// String returns the kind and name for people.
func (t Template) String() string {
	if t.Namespace == "" {
		return t.Kind + " " + t.Name
	}
	return t.Kind + " " + t.Namespace + "/" + t.Name
}

// PolicyKey identifies a policy.
type PolicyKey struct {
	// Kind is PropagationPolicy or ClusterPropagationPolicy.
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

// Counts are numbers of clusters.
type Counts struct {
	// Wanted counts the targets.
	Wanted int `json:"wanted"`
	// Ready counts the targets that have it, report it as healthy, and are heard from.
	Ready int `json:"ready"`
	// Applied, Healthy, Unhealthy, Failing and Stale count the targets by their last report, whether or not they are
	// still heard from.
	Applied   int `json:"applied"`
	Healthy   int `json:"healthy"`
	Unhealthy int `json:"unhealthy"`
	Failing   int `json:"failing"`
	Stale     int `json:"stale"`
	// Leaving counts the clusters that have it and are no longer targets.
	Leaving int `json:"leaving"`
}

// Place is an application in one cluster.
type Place struct {
	Cluster string `json:"cluster"`
	// State is one of Failing, Unhealthy, Stale, Waiting, Suspended, Moving and Healthy.
	State State `json:"state"`
	// Why explains the state, in the cluster's own words if there are any; empty if all is well.
	Why string `json:"why,omitempty"`
	// Replicas are the cluster's share; 0 for kinds without.
	Replicas int32 `json:"replicas,omitempty"`
	// Applied says that the cluster has applied the desired object, and Health is the object's health, both by the last
	// report.
	Applied bool   `json:"applied"`
	Health  string `json:"health,omitempty"`
	// Stale says that the cluster is silent, since StaleSince if that is known.
	Stale      bool       `json:"stale,omitempty"`
	StaleSince *time.Time `json:"staleSince,omitempty"`
	// Leaving says that the cluster is no longer a target.
	Leaving bool `json:"leaving,omitempty"`
}

// Everywhere returns the names of all clusters that have it or should, including those that it is leaving.
func (a *Application) Everywhere() []string {
	out := make([]string, 0, len(a.Places))
	for i := range a.Places {
		out = append(out, a.Places[i].Cluster)
	}
	return out
}

// leavesSilentOnly says whether it is leaving clusters that are all silent.
func (a *Application) leavesSilentOnly() bool {
	return a.Leaving > 0 && !slices.ContainsFunc(a.Places, func(p Place) bool { return p.Leaving && !p.Stale })
}

// leavingState returns the state of an application that is leaving clusters and of which nothing worse is to say. What it leaves in clusters
// that are silent stays as long as these are away, which may be weeks: an application that is well elsewhere only waits to have it removed.
func (a *Application) leavingState(evicting *metav1.Condition) State {
	switch {
	case !a.leavesSilentOnly():
		return Moving
	case a.Wanted == 0 || evicting != nil && evicting.Reason != workv1alpha2.ReasonWaitingForCluster:
		return Stale
	case slices.ContainsFunc(a.Places, func(p Place) bool { return p.State == Waiting }):
		return Moving // the copies elsewhere have yet to become healthy
	default:
		return Healthy
	}
}

// Clusters returns the names of those that are to have it.
func (a *Application) Clusters() []string {
	var out []string
	for i := range a.Places {
		if !a.Places[i].Leaving {
			out = append(out, a.Places[i].Cluster)
		}
	}
	return out
}
