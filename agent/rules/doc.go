// Package rules knows whether the interpreter rules of the hub have been read: the customizations and webhook
// configurations that say which fields of an object belong to the member, and how its health is judged. With the
// built-in rules alone the agent could overwrite the member's fields for good, and report unhealthy objects as
// healthy.
//
// Reads: interpreter customizations and webhook configurations on the hub, and those that the journal kept of the
// last read.
// Writes: nothing.
// Owns: the decision whether Works wait for the rules.
// Invariant: no object of the member is changed for a Work from the hub before the hub's rules were read, and none
// for a Work from the journal before they were read at least once, now or earlier. If the hub keeps refusing to let
// the agent read them, the agent goes on without.
// Next: packages execution, which leaves objects alone while it waits, and status, which keeps what it last reported.
package rules
