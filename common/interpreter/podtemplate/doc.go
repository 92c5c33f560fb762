// Package podtemplate says what a pod template asks for: what one pod needs of its
// node, and which objects must be beside it. Rules of kinds that have pod templates,
// in Go and in Lua, share it. It is pure.
package podtemplate
