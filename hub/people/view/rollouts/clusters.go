package rollouts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/prose"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/people/view/applications"
)

// Group has clusters with the same state, desired revision and reason.
type Group struct {
	State fairleadv1alpha1.ClusterState `json:"state"`
	// Wanted is the revision that they should have; 0 means the one that they have.
	Wanted int64 `json:"wanted,omitempty"`
	// Reason is one word for why they are in that state; empty if the state says it.
	Reason   string   `json:"reason,omitempty"`
	Clusters []string `json:"clusters"`
}

// ClusterStable is the state of a cluster that has the stable revision while no other is being rolled out.
const ClusterStable fairleadv1alpha1.ClusterState = "Stable"

// States returns the states of clusters; those that need attention come first.
func States() []fairleadv1alpha1.ClusterState {
	return []fairleadv1alpha1.ClusterState{
		fairleadv1alpha1.ClusterFailed, fairleadv1alpha1.ClusterLost, fairleadv1alpha1.ClusterInFlight, fairleadv1alpha1.ClusterCatchingUp,
		fairleadv1alpha1.ClusterReturning, fairleadv1alpha1.ClusterSetAside, fairleadv1alpha1.ClusterSkipped, fairleadv1alpha1.ClusterHeld,
		fairleadv1alpha1.ClusterHealthy, ClusterStable,
	}
}

func groupsOf(status *fairleadv1alpha1.StagedRolloutStatus) []Group {
	out := make([]Group, 0, len(status.Clusters))
	for i := range status.Clusters {
		c := &status.Clusters[i]
		out = append(out, Group{State: c.State, Wanted: c.Revision, Reason: c.Reason, Clusters: c.Names})
	}
	slices.SortStableFunc(out, func(a, b Group) int {
		return cmp.Or(cmp.Compare(slices.Index(States(), a.State), slices.Index(States(), b.State)), cmp.Compare(a.Wanted, b.Wanted), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}

func names(groups []Group, state fairleadv1alpha1.ClusterState) []string {
	var out []string
	for _, g := range groups {
		if g.State == state {
			out = append(out, g.Clusters...)
		}
	}
	return out
}

// Sent is the revision that the Work of a cluster was rendered from.
type Sent struct {
	// ID is the revision, since Since; none if unknown.
	ID    revision.ID
	Since time.Time
	// PodReasons are why pods are not ready there, if the object is not healthy.
	PodReasons []workv1alpha1.PodReason
}

// Cluster is a target in a rollout.
type Cluster struct {
	Name  string                        `json:"name"`
	State fairleadv1alpha1.ClusterState `json:"state"`
	// Has is the revision that it was sent last, since Since; 0 if none or unknown. Wanted is the one that it should
	// have; 0 if none.
	Has    int64      `json:"has,omitempty"`
	Since  *time.Time `json:"since,omitempty"`
	Wanted int64      `json:"wanted,omitempty"`
	// Why is a sentence about the state.
	Why string `json:"why,omitempty"`
}

// Clusters returns the targets of a rollout, sorted by name. Works has what was sent, by cluster; if nil, clusters are
// assumed to have what they should have.
func Clusters(status *fairleadv1alpha1.StagedRolloutStatus, targets []string, works map[string]Sent) []Cluster {
	plan := revision.NewPlan(status)
	groups := map[string]*fairleadv1alpha1.ClusterGroup{}
	for i := range status.Clusters {
		for _, name := range status.Clusters[i].Names {
			groups[name] = &status.Clusters[i]
		}
	}
	out := make([]Cluster, 0, len(targets))
	for _, name := range slices.Sorted(maps.Keys(setOf(targets))) {
		sent := works[name]
		c := Cluster{Name: name, State: ClusterStable, Has: sent.ID.Number, Wanted: plan.Wanted(name, sent.ID).Number}
		if works == nil {
			c.Has = c.Wanted
		}
		if !sent.Since.IsZero() {
			c.Since = &sent.Since
		}
		word := ""
		switch g := groups[name]; {
		case g != nil:
			c.State, word = g.State, g.Reason
		case status.Revision > status.Stable && status.Phase != fairleadv1alpha1.RolloutCompleted:
			c.State = fairleadv1alpha1.ClusterHeld // targets that have exactly Stable are in no group
		}
		want := plan.Wanted(name, sent.ID)
		c.Why = reasonSentence(status, c, word, want != sent.ID && want.Hash == sent.ID.Hash)
		if c.Why != "" && len(sent.PodReasons) > 0 {
			c.Why += " " + applications.Unready(&sent.PodReasons[0]) + "."
		}
		out = append(out, c)
	}
	return out
}

func setOf(all []string) map[string]bool {
	out := make(map[string]bool, len(all))
	for _, one := range all {
		out[one] = true
	}
	return out
}

// reasonSentence says why a cluster is in its state. Same says that it has the desired content under another revision
// number, so nothing was sent.
func reasonSentence(status *fairleadv1alpha1.StagedRolloutStatus, c Cluster, word string, same bool) string {
	sentence := ""
	switch c.State {
	case fairleadv1alpha1.ClusterFailed:
		sentence = fmt.Sprintf("It was sent r%d and failed", c.Wanted)
	case fairleadv1alpha1.ClusterLost:
		sentence = fmt.Sprintf("It was sent r%d and has been silent since", c.Wanted)
	case fairleadv1alpha1.ClusterInFlight:
		sentence = fmt.Sprintf("It was sent r%d and is not healthy with it yet", c.Wanted)
	case fairleadv1alpha1.ClusterCatchingUp:
		sentence = fmt.Sprintf("It was behind, and was sent r%d", c.Wanted)
	case fairleadv1alpha1.ClusterReturning:
		sentence = "It is back and waits for its turn to catch up"
	case fairleadv1alpha1.ClusterSetAside:
		sentence = "It catches up when it returns; nothing is sent there until then"
	case fairleadv1alpha1.ClusterSkipped:
		sentence = fmt.Sprintf("Somebody left it out of r%d", status.Revision)
	case fairleadv1alpha1.ClusterHeld:
		sentence = "It waits for its turn with " + revisionName(c.Has)
	case fairleadv1alpha1.ClusterHealthy:
	case ClusterStable:
		if c.Wanted > c.Has {
			sentence = fmt.Sprintf("It should have r%d", c.Wanted)
		}
		if same {
			sentence = fmt.Sprintf("It has the content of r%d", c.Wanted)
		}
	}
	if sentence != "" && word != "" {
		sentence += " (" + word + ")"
	}
	if sentence != "" {
		sentence += "."
	}
	return sentence
}

// revisionName returns the name of a revision in a sentence.
func revisionName(number int64) string {
	if number == 0 {
		return "what it has"
	}
	return fmt.Sprintf("r%d", number)
}

// Names lists the clusters of a group, at most that many by name.
func (g Group) Names(most int) string {
	return prose.Names(g.Clusters, most)
}

// StateText returns a state in words.
func StateText(s fairleadv1alpha1.ClusterState) string {
	switch s {
	case fairleadv1alpha1.ClusterInFlight:
		return "In flight"
	case fairleadv1alpha1.ClusterSetAside:
		return "Set aside"
	case fairleadv1alpha1.ClusterCatchingUp:
		return "Catching up"
	default:
		return string(s)
	}
}
