// Package match decides which policy gets a template, and which policy takes one from
// another.
package match
