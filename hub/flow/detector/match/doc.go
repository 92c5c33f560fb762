// Package match decides which policy gets a template, and which policy takes one from
// another, and says why each of the others does not have it.
package match
