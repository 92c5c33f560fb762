// Package fit says which clusters may have an application and why others may not, and how much
// more of it fits into a cluster. The member is not asked.
//
// A filter is a value: a name and a pure function.
//
// Three things bound how much fits, and the smallest counts: what the cluster has free in sum,
// by what its agent reported and by what was assigned to it since; how that is spread over its
// nodes where the cluster grades them (spec.resourceModels); and what ResourceQuotas in the
// member leave to the namespace. A grade counts with the least that its nodes have free, so the
// answer errs towards too few.
package fit
