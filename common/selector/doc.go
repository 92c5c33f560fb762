// Package selector evaluates selectors: whether one selects a template or a cluster, which taints of a cluster an
// application tolerates, what a taint policy does to a cluster, and which clusters a Namespace may use. It is shared
// by every stage that evaluates policies, so that all of them agree.
//
// An invalid selector selects nothing: a typo must not send an application to places that nobody named.
// ValidateResource and CompileCluster say what is wrong with one.
package selector
