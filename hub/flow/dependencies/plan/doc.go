// Package plan decides what follows the workload of one binding: which objects are looked for, which of those may follow it, and
// what is to be attached, detached and noted. It is pure.
//
//	references, what is attached ── NeedsOf ──▶ Needs       what to look for
//	Needs, ReferenceGrants       ── Permit  ──▶ Permission  what of that may follow
//	all that, and what was found ── Decide  ──▶ Plan        what to write
//
// What Plan detaches is what the caches show to be needed no more. The stage reads live whether that is so before it detaches anything.
package plan
