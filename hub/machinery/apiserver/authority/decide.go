package authority

import (
	"fmt"
	"slices"
	"strings"
)

// Agent is which authorities an agent goes by, as it told the hub.
type Agent struct {
	// Cluster is the name of its member.
	Cluster string
	// Trusts are the hashes of those that it trusts; none if it told nothing.
	Trusts []string
	// Issuer is the hash of the one of its own certificate; empty if it told nothing.
	Issuer string
}

// Step is one of the steps by which a certificate authority is exchanged.
type Step string

// Steps.
const (
	Begin  Step = "begin"
	Switch Step = "switch"
	Finish Step = "finish"
)

// Decision says whether a step can be made now.
type Decision struct {
	// Done says that there is nothing to do.
	Done bool
	// Wrong is why the step cannot be made at all; empty if it can.
	Wrong string
	// Waiting are the agents that would be cut off, with what is missing, by name.
	Waiting []Waiting
}

// Waiting is an agent that the step would cut off, and why.
type Waiting struct {
	Cluster, Why string
}

// Input is everything that the decision about a step depends on.
type Input struct {
	Step Step
	// Bundle is on disk, Served what the hub that runs goes by; nil if that is not known.
	Bundle, Served Bundle
	// Agents are all that are joined.
	Agents []Agent
}

// Decide says whether a step can be made, and whom it would cut off.
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
