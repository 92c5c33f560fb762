// Package database connects to the etcd of a control plane, copies it at one revision while it serves, and creates the
// files of an etcd from such a copy, which it can also read.
package database
