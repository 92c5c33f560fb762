// Package index keeps the rows of every cluster, application and policy that lists show, and updates only what changed.
// It is pure: objects in, rows out.
package index
