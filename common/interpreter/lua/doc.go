// Package lua answers by scripts: those of ResourceInterpreterCustomizations, and those
// that are built in.
//
// For each kind and operation the first script answers, in the order of the names of the
// customizations; only the dependencies that several scripts name add up. Scripts are
// compiled when customizations change, never per question. One that cannot be compiled
// still has its place: whoever asks is told what is wrong with it, as no other layer
// would answer what its author meant.
package lua
