// Package bindings holds what all stages need to know about bindings: where a template goes, whether its replicas are
// divided, what its clusters report; and the names, IDs and labels that tie a binding to its template and its Works.
package bindings
