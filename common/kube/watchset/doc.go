// Package watchset watches kinds that come and go: those of templates and of their dependencies. A Set is what one
// stage watches; several Sets share the informer of a kind; and ServedKinds knows the kinds that the API serves, with
// one discovery request for all callers.
package watchset
