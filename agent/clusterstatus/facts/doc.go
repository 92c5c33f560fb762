// Package facts converts observations of a member into the status of its Cluster. It is pure: probes, nodes, pods and
// quotas in, a part of the status out.
package facts
