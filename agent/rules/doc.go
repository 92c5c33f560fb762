// Package rules knows whether it is known what kinds mean on the hub: what of an object belongs to the member, and how it fares. By what is built
// in alone the agent would overwrite for good what belongs to the member, and report as healthy what is not.
//
// Reads: interpreter customizations and webhook configurations on the hub, and those that were kept when the hub was last asked.
// Writes: nothing.
// Owns: the word whether Works wait for them.
// Invariant: what the member has is changed for no Work of the hub before the hub said what kinds mean, and for no Work of the journal before
// anybody did. A hub that does not let the agent ask has nothing to say, once that has lasted.
// Next: packages execution, which leaves objects alone for so long, and status, which leaves what it told.
package rules
