// Package facts turns what was observed of a member into what its Cluster says. It is
// pure: probes, nodes and pods in, a part of the status out.
package facts
