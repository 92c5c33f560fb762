// Package index keeps what lists show of every cluster, application and policy, made anew
// only for what changed. It is pure: objects in, rows out, no clock and no client.
package index
