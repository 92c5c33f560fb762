// Package claim reads and writes the marks that say which policy has a template: on
// the template and on its binding.
package claim
