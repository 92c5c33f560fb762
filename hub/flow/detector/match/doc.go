// Package match decides which policy gets a template and which policy takes a template from another one, and says why the others do not.
package match
