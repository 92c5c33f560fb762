// Package kube holds the few helpers through which every stage talks to an API
// server: the scheme, the controller constructor, edits that write only what
// changed, and events.
package kube
