// Package plan decides what becomes of a template: which claim it and its binding carry,
// and what the binding says. It leaves what other stages own.
//
//	Input ── Decide ──▶ Plan ┬ Bound       the claim, the binding, the edit that was seen
//	                         ├ Postponed   the claims; a lazy policy waits for an edit
//	                         ├ Released    no claim any more; the binding stays
//	                         ├ Waiting     nothing, an override policy is missing
//	                         ├ NameTaken   the claim; the binding is another object's
//	                         ├ Leaving     the claim; the old binding has to go first
//	                         ├ Elsewhere   nothing, it is done where the template is read in another version
//	                         └ NoPriority  the claim; the PriorityClass is missing
//
// Whatever becomes of it, a binding that is there goes by the strategy that is forced on its template, or that the policy which has the template
// asks for: it is rendered as long as it is there.
package plan
