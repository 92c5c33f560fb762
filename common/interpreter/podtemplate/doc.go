// Package podtemplate reads what a pod template requests: what one pod requires of its node, and which objects it
// depends on. It is shared by the rules, in Go and in Lua, of kinds that have pod templates. It is pure.
package podtemplate
