// Package match decides which policy gets a template, and which templates no policy
// gets.
package match
