// Package fleettest gives the tests of a package one fleet: started by the first that
// needs it, stopped after the last.
package fleettest
