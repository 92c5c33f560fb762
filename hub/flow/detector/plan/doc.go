// Package plan decides about a template: which claim the template and its binding have, and the content of the binding. It does not change
// what other stages own.
//
//	Input ── Decide ──▶ Plan ┬ Bound       the claim, the binding, the edit that was seen
//	                         ├ Postponed   the claims; a lazy policy waits for an edit
//	                         ├ Released    no claim any more; the binding stays
//	                         ├ Waiting     nothing; an override policy is missing
//	                         ├ NameTaken   the claim; the binding is another object's
//	                         ├ Leaving     the claim; the old binding must be gone first
//	                         ├ Elsewhere   nothing; the reconcile in another version does it
//	                         └ NoPriority  the claim; the PriorityClass is missing
//
// Whatever the outcome, an existing binding follows the strategy that is forced on its template, or that its policy asks for, because it is
// rendered as long as it exists.
package plan
