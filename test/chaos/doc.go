// Package chaos has hub, agent and member fail in every way that they do in the field,
// while objects come, change and go, and checks that nothing is lost, left over, made
// twice or deleted that should not be.
//
// A model says what is to be in the member; what happens is drawn by chance, from a seed
// that is logged. FAIRLEAD_CHAOS_SEED repeats a run, FAIRLEAD_CHAOS_AWAY says how long the
// hub is away. `make test` runs the same round each time, `make chaos` ten that it draws,
// with the hub away for a minute.
package chaos
