// Package capacity decides whether the capacity that an agent reports is what it usually reports.
// Capacity draws replicas, and nobody but the agent knows how much there is: more than twice as
// much as the day before is shown to operators, who may bound what is believed.
package capacity
