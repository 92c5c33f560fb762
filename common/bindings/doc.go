// Package bindings reads what a binding says, for every stage alike: where its template goes,
// whether its replicas are divided, which Works are its own, what its clusters report.
package bindings
