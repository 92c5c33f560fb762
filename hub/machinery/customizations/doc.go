// Package customizations reports on customizations whether their scripts compile, whether another customization takes
// precedence, and whether they fail at run time.
//
//	Reads:     ResourceInterpreterCustomizations; failures of the hub's interpreter.
//	Writes:    their conditions Compiled and Failing.
//	Owns:      nothing.
//	Invariant: a condition is about the generation that it names. It does not decide which scripts are used:
//	           the interpreter does, by the same rules.
//	Next:      the author of the customization.
package customizations
