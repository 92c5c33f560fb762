// Package estimate says how much more of an application fits into a cluster, by what
// its agent reported and by what was assigned to it since, and what it is that limits
// it. The member is not asked.
//
// Two things bound the answer, and the smaller one counts: what the cluster has free
// in sum, and how that is spread over its nodes where the cluster grades them
// (spec.resourceModels). A grade counts with the least that its nodes have free, so
// the answer errs towards too few.
package estimate
