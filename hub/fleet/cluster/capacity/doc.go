// Package capacity decides whether the capacity that an agent reports is plausible. The scheduler divides replicas by
// capacity, and only the agent knows how much there is. A report of more than twice the previous day's is therefore
// shown to operators, who can cap what the hub believes.
package capacity
