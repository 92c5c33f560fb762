package agents

import (
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
)

// State is how far the upgrade of the agent of one cluster is.
type State string

// Values of State.
const (
	// Held : it waits for its turn.
	Held State = "Held"
	// InFlight : its agent was asked.
	InFlight State = "InFlight"
	// Upgraded : its agent is the wanted one.
	Upgraded State = "Upgraded"
	// Lost : it was upgraded, and the hub does not hear its agent since. Its guard is gone by then, so nothing brings the agent before back.
	Lost State = "Lost"
	// Failed : its agent went back, or says nothing about the upgrade.
	Failed State = "Failed"
	// ByHand : its agent does not upgrade itself, or is not allowed to.
	ByHand State = "ByHand"
	// Silent : the hub does not hear its agent, which is asked at the end and catches up.
	Silent State = "Silent"
)

// Member is one cluster of a wave.
type Member struct {
	Name    string
	State   State
	Message string
	// Ends is the image of another upgrade that its agent brings to an end first; empty if there is none.
	Ends string
	// asked says that its Cluster names the wanted agent, and attempt as which attempt: the higher, the later.
	asked   bool
	attempt int64
	// silentSince is since when one that is lost is not heard, and backSince since when one is that was; zero if that is not known.
	silentSince, backSince time.Time
	// since is since when it is upgraded, as its agent says; if that is yet to come by the clock of the hub, since it was seen.
	since time.Time
}

// Wave is one of the strategy.
type Wave struct {
	Name    string
	Members []Member
}

// Input is everything that a decision depends on.
type Input struct {
	// Wanted is the agent that the clusters are to run.
	Wanted clusterv1alpha1.WantedAgent
	// Strategy has the waves. What it leaves out has its default.
	Strategy fairleadv1alpha1.RolloutStrategySpec
	// Clusters are all that are to have it.
	Clusters []*clusterv1alpha1.Cluster
	// Retry are the clusters that are asked again though they have answered.
	Retry sets.Set[string]
	// Approved are the waves that a person lets pass.
	Approved sets.Set[string]
	// Asked is since when clusters are known to be under way, but for those that end another upgrade first. One that is not there is so
	// since Now.
	Asked map[string]time.Time
	// Back is since when clusters are known to be heard again that were lost. One that is not there was not seen lost.
	Back map[string]time.Time
	// Seen is since when clusters are known to be upgraded. One that is not there is so since Now.
	Seen map[string]time.Time
	// Now is the current time.
	Now time.Time
}

// Decision is the next step of an upgrade of all agents, with its reasons.
type Decision struct {
	// Ask are the clusters to be asked now.
	Ask []string
	// Waves say where each cluster stands.
	Waves []Wave
	// Soaking is the wave that is well now and waits for its soak time, which ends at Until; empty if
	// there is none.
	Soaking string
	Until   time.Time
	// Stopped is why no more clusters are asked until a person does something; empty if they are.
	Stopped string
	// Done says that each cluster was asked and none is in flight.
	Done bool
}
