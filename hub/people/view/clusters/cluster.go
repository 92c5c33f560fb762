package clusters

import (
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// State is the first thing to say of a cluster. The names are shown to people and are
// values of `-o json`.
type State string

// States, the worst first.
const (
	// Silent : its agent is not heard from.
	Silent State = "Silent"
	// NotReady : its agent says that it is not ready.
	NotReady State = "NotReady"
	// Joining : its agent has not reported yet.
	Joining State = "Joining"
	// Forgotten : an operator gave it up.
	Forgotten State = "Forgotten"
	// Removing : it is being removed.
	Removing State = "Removing"
	// Cordoned : it is ready, and gets nothing new.
	Cordoned State = "Cordoned"
	// Ready : it is ready.
	Ready State = "Ready"
)

// States returns all of them, the worst first.
func States() []State {
	return []State{Silent, NotReady, Joining, Forgotten, Removing, Cordoned, Ready}
}

// Cluster is a member as it is shown to people.
type Cluster struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	// Ready is the status of the condition (True, False or Unknown; empty if there is
	// none), Why its message unless it is True, and Since when it changed.
	Ready string     `json:"ready,omitempty"`
	Why   string     `json:"why,omitempty"`
	Since *time.Time `json:"since,omitempty"`
	// Heartbeat is when the agent was heard from last: when it renewed its lease, by its own clock, or now if its line is
	// open, by which it is heard all the time; nil if it never was or if the lease may not be read. Lag is how long ago that is, in seconds, and 0 if
	// the agent's clock is ahead.
	Heartbeat *time.Time `json:"heartbeat,omitempty"`
	Lag       *float64   `json:"lagSeconds,omitempty"`
	// Version of the member's Kubernetes, and of its agent; empty if they were not told.
	Version string `json:"version,omitempty"`
	Agent   string `json:"agentVersion,omitempty"`
	// Region, Zones and Provider are where it is.
	Region   string            `json:"region,omitempty"`
	Zones    []string          `json:"zones,omitempty"`
	Provider string            `json:"provider,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	// Taints keep applications away.
	Taints []string `json:"taints,omitempty"`
	// Nodes counts them; nil if they were not told.
	Nodes *Nodes `json:"nodes,omitempty"`
	// CPU (in cores), Memory (in bytes) and Pods; nil if they were not told.
	CPU    *Usage `json:"cpu,omitempty"`
	Memory *Usage `json:"memory,omitempty"`
	Pods   *Usage `json:"pods,omitempty"`
	// Works counts what it was sent; nil if that may not be read.
	Works *Works `json:"works,omitempty"`
	// Unclaimed counts objects in the member that no Work claims any more.
	Unclaimed int32 `json:"unclaimedObjects,omitempty"`
	// DeletionsHeld says why the agent holds back deletions, and how they are let go; empty if
	// it does not.
	DeletionsHeld string `json:"deletionsHeld,omitempty"`
	// Report has the agent's counts of its own work; nil if it reported none.
	Report *clusterv1alpha1.AgentReport `json:"agentReport,omitempty"`
	// Certificate is the last that the agent was given; nil if the hub gave none.
	Certificate *Certificate `json:"certificate,omitempty"`
	// Joined is when it did; nil if nobody has yet.
	Joined *time.Time `json:"joined,omitempty"`
	// Created is when the hub first knew of it.
	Created time.Time `json:"created"`
	// Remarks are sentences that an operator should read.
	Remarks []string `json:"remarks,omitempty"`
}

// Nodes counts nodes.
type Nodes struct {
	Ready int32 `json:"ready"`
	Total int32 `json:"total"`
}

// Usage is of one resource.
type Usage struct {
	// Total is the allocatable amount of the nodes, Used the requests of pods on nodes, Pending the requests of pods without a node, and
	// Free the remainder.
	Total   resource.Quantity `json:"total"`
	Used    resource.Quantity `json:"used"`
	Pending resource.Quantity `json:"pending"`
	Free    resource.Quantity `json:"free"`
}

// Percent is how much of the total is used, rounded; 0 if there is nothing.
func (u *Usage) Percent() int {
	total := u.Total.AsApproximateFloat64()
	if total <= 0 {
		return 0
	}
	const whole = 100
	return int(u.Used.AsApproximateFloat64()/total*whole + 0.5)
}

// Works counts what a cluster was sent.
type Works struct {
	// Total is how many there are, Applied how many the agent says it has applied, Failing
	// how many it says it cannot apply.
	Total   int `json:"total"`
	Applied int `json:"applied"`
	Failing int `json:"failing"`
	// Deleting is how many the agent has yet to remove.
	Deleting int `json:"deleting"`
}

// Certificate is about the certificate of an agent.
type Certificate struct {
	Expires time.Time `json:"expires"`
	Serial  string    `json:"serial"`
}
