// Package revision holds what the stages rollout and binding share about staged rollouts: which revision of an
// application a cluster should have, and what a revision consists of.
//
// A revision is the content of an application at one time: its template without replicas, the rules of override
// policies that select it, in their order, and the same for its dependencies. Status, replicas, placement,
// suspension, interpreter rules and the version of the hub are not part of it. It is stored in a Secret beside the
// application, except for the rules of ClusterOverridePolicies, which readers of that Secret may not be allowed to
// read: see RulesName. Revisions are numbered, and a cluster only ever moves to a higher number: going back makes a
// new revision with the content of an old one. So nothing outdated, such as a lagging cache or a restored status,
// moves a cluster back.
package revision
