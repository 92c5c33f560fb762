// Package lines is the registry of the lines that agents hold open to this replica of the hub: which clusters have one,
// since when, and how the last one ended. It is pure: the server of lines reports events, with their times.
//
// A cluster may briefly have two lines, since an agent that replaces its line opens the new one before it closes the
// old one. Requests go through the newest; the cluster is connected while it has any.
//
// The registry is in memory only: after a start of the hub it knows no cluster until its agent opens a line.
package lines
