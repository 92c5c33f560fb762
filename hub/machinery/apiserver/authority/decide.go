package authority

import (
	"fmt"
	"slices"
	"strings"
)

// Agent is what an agent has reported about the authorities that it uses.
type Agent struct {
	// Cluster is the name of its cluster.
	Cluster string
	// Trusts are the hashes of the authorities that it trusts; none if it reported nothing.
	Trusts []string
	// Issuer is the hash of the authority of its own certificate; empty if it reported nothing.
	Issuer string
}

// Step is a step of exchanging the certificate authority.
type Step string

// The steps.
const (
	Begin  Step = "begin"
	Switch Step = "switch"
	Finish Step = "finish"
)

// Decision says whether a step can be taken now.
type Decision struct {
	// Done says that the step was already taken.
	Done bool
	// Wrong is why the step is not possible in this phase; empty if it is.
	Wrong string
	// Waiting are the agents that the step would cut off, sorted by name.
	Waiting []Waiting
}

// Waiting is an agent that the step would cut off, and why.
type Waiting struct {
	Cluster, Why string
}

// Input is everything that the decision about a step depends on.
type Input struct {
	Step Step
	// Bundle is the bundle on disk, and Served the one that the running hub uses; nil if unknown.
	Bundle, Served Bundle
	// Agents are all agents that have joined.
	Agents []Agent
}

// Decide says whether a step can be taken, and which agents it would cut off.
func Decide(in Input) Decision {
	phase := in.Bundle.Phase()
	switch {
	case in.Step == Begin && phase == Overlap, in.Step == Switch && phase == Switched, in.Step == Finish && phase == Steady:
		return Decision{Done: true}
	case in.Step == Begin && phase == Switched:
		return Decision{Wrong: "the exchange of before is not at its end; end it with `hub ca finish`"}
	case in.Step == Switch && phase == Steady:
		return Decision{Wrong: "there is no other certificate authority yet; make one with `hub ca begin`"}
	case in.Step == Finish && phase == Overlap:
		return Decision{Wrong: "the old certificate authority signs still; have the new one sign with `hub ca switch`"}
	case in.Step == Begin:
		return Decision{}
	}
	if in.Served != nil && !slices.Equal(in.Served.hashes(), in.Bundle.hashes()) {
		return Decision{Wrong: "the hub that runs goes by the authorities of before; restart `hub serve` first"}
	}
	var d Decision
	for _, agent := range in.Agents {
		if why := missing(in, agent); why != "" {
			d.Waiting = append(d.Waiting, Waiting{agent.Cluster, why})
		}
	}
	slices.SortFunc(d.Waiting, func(a, b Waiting) int { return strings.Compare(a.Cluster, b.Cluster) })
	return d
}

// missing says what an agent has to do before a step can be taken; empty if it is ready.
func missing(in Input, agent Agent) string {
	next := Hash(in.Bundle.New())
	switch {
	case !slices.Contains(agent.Trusts, next):
		return fmt.Sprintf("it has not told that it trusts %s", next)
	case in.Step == Finish && agent.Issuer != next:
		return "its certificate is of the old authority"
	default:
		return ""
	}
}
