// Package lines is the registry of the lines that agents hold open to this replica of the hub: which clusters have
// one, since when, and how the last one ended. It talks to nobody and knows no clock: the server of lines says what
// happened and when.
//
// A cluster may have two lines for a while, since an agent that renews its line opens the new one before it lets go of
// the old one. Requests go through the newest; the cluster is connected while there is any.
//
// All of it is in memory only. After a start of the hub no cluster is known here until its agent has opened a line.
package lines
