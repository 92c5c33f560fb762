// Package customizations says on customizations what becomes of their scripts: whether
// they compile, whether another customization answers in their place, and whether they
// fail when they are asked.
//
//	Reads:     ResourceInterpreterCustomizations; failures of the hub's interpreter.
//	Writes:    their conditions Compiled and Failing.
//	Owns:      nothing.
//	Invariant: what is said is about the generation that the condition names. It does not
//	           decide what is used: the interpreter does, by the same rules.
//	Next:      whoever wrote the customization.
package customizations
