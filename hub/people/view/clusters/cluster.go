package clusters

import (
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// State is the most important state of a cluster. The values are shown to people and in `-o json`.
type State string

// The states, the worst first.
const (
	// Silent means that its agent is not heard from.
	Silent State = "Silent"
	// NotReady means that its agent reports that it is not ready.
	NotReady State = "NotReady"
	// Joining means that its agent has not reported yet.
	Joining State = "Joining"
	// Forgotten means that an operator has forgotten it.
	Forgotten State = "Forgotten"
	// Removing means that it is being removed.
	Removing State = "Removing"
	// Cordoned means that it is ready, and gets no new workloads.
	Cordoned State = "Cordoned"
	// Ready means that it is ready.
	Ready State = "Ready"
)

// States returns all states, the worst first.
func States() []State {
	return []State{Silent, NotReady, Joining, Forgotten, Removing, Cordoned, Ready}
}

// Cluster is a member as it is shown to people.
type Cluster struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	// Ready is the status of the condition Ready (True, False or Unknown; empty if there is none), Why its message
	// unless it is True, and Since when it changed.
	Ready string     `json:"ready,omitempty"`
	Why   string     `json:"why,omitempty"`
	Since *time.Time `json:"since,omitempty"`
	// Heartbeat is when the agent was last heard from: its lease renewal by its own clock, or now while its line is
	// open. It is nil if the agent never was heard or the lease may not be read. Lag is its age in seconds; 0 if the
	// agent's clock is ahead.
	Heartbeat *time.Time `json:"heartbeat,omitempty"`
	Lag       *float64   `json:"lagSeconds,omitempty"`
	// Version is the Kubernetes version, and Agent the agent's version; empty if not reported.
	Version string `json:"version,omitempty"`
	Agent   string `json:"agentVersion,omitempty"`
	// Region, Zones and Provider are the location of the cluster.
	Region   string            `json:"region,omitempty"`
	Zones    []string          `json:"zones,omitempty"`
	Provider string            `json:"provider,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	// Taints are the taints of the cluster.
	Taints []string `json:"taints,omitempty"`
	// Nodes counts its nodes; nil if not reported.
	Nodes *Nodes `json:"nodes,omitempty"`
	// CPU (in cores), Memory (in bytes) and Pods are resources; nil if not reported.
	CPU    *Usage `json:"cpu,omitempty"`
	Memory *Usage `json:"memory,omitempty"`
	Pods   *Usage `json:"pods,omitempty"`
	// Works counts its Works; nil if they may not be read.
	Works *Works `json:"works,omitempty"`
	// Unclaimed counts objects in the member that no Work claims.
	Unclaimed int32 `json:"unclaimedObjects,omitempty"`
	// DeletionsHeld says why the agent holds back deletions, and how to release them; empty if it does not.
	DeletionsHeld string `json:"deletionsHeld,omitempty"`
	// Report has the agent's own counters; nil if it reported none.
	Report *clusterv1alpha1.AgentReport `json:"agentReport,omitempty"`
	// Certificate is the certificate that the agent was issued last; nil if the hub issued none.
	Certificate *Certificate `json:"certificate,omitempty"`
	// Joined is when it joined; nil if it has not yet.
	Joined *time.Time `json:"joined,omitempty"`
	// Created is when the Cluster was created.
	Created time.Time `json:"created"`
	// Remarks are sentences for operators.
	Remarks []string `json:"remarks,omitempty"`
}

// Nodes counts nodes.
type Nodes struct {
	Ready int32 `json:"ready"`
	Total int32 `json:"total"`
}

// Usage is the usage of one resource.
type Usage struct {
	// Total is the allocatable amount of the nodes, Used the requests of pods on nodes, Pending the requests of pods without a node, and
	// Free the remainder.
	Total   resource.Quantity `json:"total"`
	Used    resource.Quantity `json:"used"`
	Pending resource.Quantity `json:"pending"`
	Free    resource.Quantity `json:"free"`
}

// Percent is how much of the total is used, rounded; 0 if the total is 0.
func (u *Usage) Percent() int {
	total := u.Total.AsApproximateFloat64()
	if total <= 0 {
		return 0
	}
	const whole = 100
	return int(u.Used.AsApproximateFloat64()/total*whole + 0.5)
}

// Works counts the Works of a cluster.
type Works struct {
	// Total counts all Works, Applied those that the agent reports as applied, and Failing those that it reports it
	// cannot apply.
	Total   int `json:"total"`
	Applied int `json:"applied"`
	Failing int `json:"failing"`
	// Deleting counts those that the agent has yet to delete.
	Deleting int `json:"deleting"`
}

// Certificate describes the certificate of an agent.
type Certificate struct {
	Expires time.Time `json:"expires"`
	Serial  string    `json:"serial"`
}
