// Package selector says whether a selector picks a template or a cluster. It is
// shared by every stage that looks at a policy, so that all of them agree.
//
// An invalid selector picks nothing: a typo must not send an application to places
// that nobody named. ValidateResource and CompileCluster say what is wrong with one.
package selector
