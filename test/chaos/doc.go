// Package chaos makes the hub, the agent and the member fail in every way seen in the field while objects are created,
// changed and deleted, and checks that no object is lost, left over, created twice or wrongly deleted.
//
// A model says which objects the member must have; the events are random, from a seed that is logged.
// FAIRLEAD_CHAOS_SEED repeats a run, FAIRLEAD_CHAOS_AWAY sets how long the hub is away. `make test` runs the same round
// each time, `make chaos` runs ten random ones, with the hub away for a minute.
package chaos
