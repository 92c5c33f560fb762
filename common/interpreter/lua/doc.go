// Package lua interprets objects with Lua scripts: those of ResourceInterpreterCustomizations, and built-in ones.
//
// For each kind and operation the first script answers, in the order of the customizations' names; only the
// dependencies returned by several scripts are combined. Scripts are compiled when customizations change, never per
// question. A script that does not compile keeps its place: questions to it return the error, since no other layer
// would answer as its author intended.
package lua
