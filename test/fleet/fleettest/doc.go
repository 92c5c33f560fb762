// Package fleettest gives the tests of a package one fleet, which starts with the first test that needs it and stops
// after the last.
package fleettest
