// Package plan decides about the dependencies of one binding's workload: which objects to look for, which of them may be attached, and what
// to attach, detach and record. It is pure.
//
//	references, what is attached ── NeedsOf ──▶ Needs       what to look for
//	Needs, ReferenceGrants       ── Permit  ──▶ Permission  which of them may be attached
//	all that, and what was found ── Decide  ──▶ Plan        what to write
//
// What a Plan detaches is not needed any more according to the caches. The stage confirms that live before it detaches anything.
package plan
