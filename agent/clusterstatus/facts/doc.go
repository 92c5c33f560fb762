// Package facts turns what was observed of a member into what its Cluster says. It is
// pure: probes, nodes, pods and quotas in, a part of the status out.
package facts
