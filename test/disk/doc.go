// Package disk gives tests small disks, which fill up. A disk is in memory and in a mount namespace of its own, so that nothing of it is left on
// the machine, however a test ends.
package disk
