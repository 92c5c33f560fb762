package agents

import (
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
)

// State is the state of the agent's upgrade in one cluster.
type State string

// The states.
const (
	// Held means that the cluster waits for its turn.
	Held State = "Held"
	// InFlight means that its agent was asked.
	InFlight State = "InFlight"
	// Upgraded means that its agent is the wanted one.
	Upgraded State = "Upgraded"
	// Lost means that it was upgraded, and its agent has been silent since. Its guard is gone by then, so nothing will
	// roll it back.
	Lost State = "Lost"
	// Failed means that its agent rolled back, or did not report on the upgrade.
	Failed State = "Failed"
	// ByHand means that its agent does not upgrade itself, or is not allowed to.
	ByHand State = "ByHand"
	// Silent means that its agent is not heard. It is asked at the end, and catches up.
	Silent State = "Silent"
)

// Member is a cluster of a wave.
type Member struct {
	Name    string
	State   State
	Message string
	// Ends is the image of another upgrade that its agent finishes first; empty if there is none.
	Ends string
	// asked says that its Cluster names the wanted agent, and attempt is the number of that attempt; later ones are
	// higher.
	asked   bool
	attempt int64
	// silentSince is since when a lost cluster has been silent, and backSince since when a formerly lost one is heard;
	// zero if unknown.
	silentSince, backSince time.Time
	// since is when it was upgraded, as its agent reported; if that is in the future by the hub's clock, when the hub
	// first saw it.
	since time.Time
}

// Wave is a wave of the strategy.
type Wave struct {
	Name    string
	Members []Member
}

// Input is everything that a decision depends on.
type Input struct {
	// Wanted is the wanted agent.
	Wanted clusterv1alpha1.WantedAgent
	// Strategy has the waves. Missing settings have their defaults.
	Strategy fairleadv1alpha1.RolloutStrategySpec
	// Clusters are all clusters to upgrade.
	Clusters []*clusterv1alpha1.Cluster
	// Retry are the clusters to ask again although they have reported.
	Retry sets.Set[string]
	// Approved are the waves that a person has approved.
	Approved sets.Set[string]
	// Asked is when each cluster was first seen upgrading; clusters that finish another upgrade first are left out. A cluster that is
	// upgrading and missing here was first seen Now.
	Asked map[string]time.Time
	// Back is when each cluster that had fallen silent was first heard again. A cluster that is missing here never fell silent.
	Back map[string]time.Time
	// Seen is when each cluster was first seen upgraded. A cluster that is upgraded and missing here was first seen Now.
	Seen map[string]time.Time
	// Now is the current time.
	Now time.Time
}

// Decision is the next step of an upgrade of all agents, with its reasons.
type Decision struct {
	// Ask are the clusters to ask now.
	Ask []string
	// Waves have the state of each cluster.
	Waves []Wave
	// Soaking is the successful wave whose soak time ends at Until; empty if there is none.
	Soaking string
	Until   time.Time
	// Stopped is why no more clusters are asked until a person intervenes; empty if they are.
	Stopped string
	// Done says that every cluster was asked and none is in flight.
	Done bool
}
