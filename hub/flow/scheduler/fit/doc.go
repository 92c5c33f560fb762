// Package fit decides which clusters may have an application, with reasons why others may not, and how much more of it fits into a cluster.
// It goes by what agents reported, without asking the members.
//
// A filter is a value: a name and a pure function.
//
// The capacity is the least of three bounds: what the cluster has free in total, by its agent's report less what was assigned since; how
// that is spread over nodes, if the cluster grades them (spec.resourceModels); and what ResourceQuotas in the member leave to the
// namespace. A grade counts with the least that its nodes have free, so the estimate is rather too low than too high.
package fit
