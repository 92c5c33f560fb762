// Package database reaches the etcd of a control plane over its socket, copies it at one revision while it serves, and
// makes the files of an etcd from such a copy, which it can read as well.
package database
