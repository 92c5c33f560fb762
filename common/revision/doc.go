// Package revision has what the stages rollout and binding both know of staged rollouts: which
// revision of an application a cluster is to have, and what a revision consists of.
//
// A revision is the content of an application at one time: its template without replicas, the
// rules of override policies that select it, in their order, and the same of what it depends on.
// Not part of it are status, replicas, placement, suspension, the rules of interpreters and the
// version of the hub. It is kept in a Secret beside the application, but for the rules of
// ClusterOverridePolicies, which whoever may read that may not read: see RulesName. Revisions are numbered, and a cluster only ever moves to a higher number:
// going back makes a new revision with the content of an old one. So nothing that is out of date,
// a cache or a status that somebody restored, moves a cluster back.
package revision
