// Package disk gives tests small disks that can be filled. A disk is in memory and in its own mount namespace, so that
// nothing of it is left on the machine, however a test ends.
package disk
