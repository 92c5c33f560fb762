package applications

import "time"

// State is the worst state that an application is in, in any of its clusters. The names are shown to people
// and are values of `-o json`.
type State string

// States, the worst first.
const (
	// Failing : a cluster refuses the object.
	Failing State = "Failing"
	// Unscheduled : no cluster was found for it.
	Unscheduled State = "Unscheduled"
	// Unhealthy : it was applied, and is not healthy in some cluster.
	Unhealthy State = "Unhealthy"
	// Stale : a cluster that has it is not heard from; what is shown of it is old.
	Stale State = "Stale"
	// Waiting : some cluster has yet to report.
	Waiting State = "Waiting"
	// Suspended : somebody had its delivery suspended.
	Suspended State = "Suspended"
	// Moving : it is leaving a cluster.
	Moving State = "Moving"
	// RollingOut : a change of it is on its way to its clusters in waves, or is held up.
	RollingOut State = "RollingOut"
	// Deleting : the template is gone, and its copies are being removed.
	Deleting State = "Deleting"
	// Healthy : each cluster that is to have it has it, and it is healthy there.
	Healthy State = "Healthy"
)

// States returns all of them, the worst first.
func States() []State {
	return []State{Failing, Unscheduled, Unhealthy, Stale, Waiting, Suspended, Moving, RollingOut, Deleting, Healthy}
}

// Application is a template that a policy sends out, or that follows one that is.
type Application struct {
	Template
	// Binding is the name of its binding, which is in the namespace of the template.
	Binding string `json:"binding"`
	// Policy is the policy that has the template; empty if none has: then it follows others, or its policy was
	// just deleted.
	Policy PolicyKey `json:"policy"`
	// Follows are the bindings whose workloads need it, as namespace/name.
	Follows []string `json:"follows,omitempty"`
	// State is the worst state that it is in, and Why a sentence about that; Why is empty
	// if it is healthy.
	State State  `json:"state"`
	Why   string `json:"why,omitempty"`
	// Replicas that the template asks for; 0 for what has none.
	Replicas int32 `json:"replicas,omitempty"`
	Counts
	// Places has an entry for each cluster that has it or is to have it, by name.
	Places []Place `json:"clusters"`
	// Since is when its binding was created.
	Since time.Time `json:"since"`
}

// Template names the object that its author wrote.
type Template struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// String is how people write it.
func (t Template) String() string {
	if t.Namespace == "" {
		return t.Kind + " " + t.Name
	}
	return t.Kind + " " + t.Namespace + "/" + t.Name
}

// PolicyKey names a policy.
type PolicyKey struct {
	// Kind is PropagationPolicy or ClusterPropagationPolicy.
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

// Counts are clusters.
type Counts struct {
	// Wanted is how many are to have it.
	Wanted int `json:"wanted"`
	// Ready is how many of these have it, report that it is healthy, and were heard from.
	Ready int `json:"ready"`
	// Applied, Healthy, Unhealthy, Failing and Stale are how many of these say so, whether
	// or not they are still heard from.
	Applied   int `json:"applied"`
	Healthy   int `json:"healthy"`
	Unhealthy int `json:"unhealthy"`
	Failing   int `json:"failing"`
	Stale     int `json:"stale"`
	// Leaving is how many have it and are not to have it any more.
	Leaving int `json:"leaving"`
}

// Place is an application in one cluster.
type Place struct {
	Cluster string `json:"cluster"`
	// State is one of Failing, Unhealthy, Stale, Waiting, Suspended, Moving and Healthy.
	State State `json:"state"`
	// Why explains the state, in the cluster's own words where it gave any; empty if all is well.
	Why string `json:"why,omitempty"`
	// Replicas that the cluster is to run; 0 for what has none.
	Replicas int32 `json:"replicas,omitempty"`
	// Applied says that the cluster has the object as asked for, and Health how the object fares, both by the cluster's last report.
	Applied bool   `json:"applied"`
	Health  string `json:"health,omitempty"`
	// Stale says that the cluster is not heard from, since StaleSince if that is known.
	Stale      bool       `json:"stale,omitempty"`
	StaleSince *time.Time `json:"staleSince,omitempty"`
	// Leaving says that it is not to be there any more.
	Leaving bool `json:"leaving,omitempty"`
}

// Everywhere returns the names of the clusters that have it, or are to, also of those that it is leaving.
func (a *Application) Everywhere() []string {
	out := make([]string, 0, len(a.Places))
	for i := range a.Places {
		out = append(out, a.Places[i].Cluster)
	}
	return out
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
