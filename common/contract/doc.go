// Package contract defines every name on the wire, once: labels, annotations, finalizers, namespaces, identities,
// field managers, and how the names of bindings and Works are derived. Programs that use this API depend on them.
//
// The terms of this code base, one per concept:
//
//   - template: an object that a user wrote on the hub, to be propagated. Workload: a template with replicas.
//     Application: a template with everything that the hub derives from it, as people see it.
//   - policy: a PropagationPolicy or ClusterPropagationPolicy; an override policy is always called so.
//   - claim: the labels and annotations on a template that name its policy.
//   - binding: a ResourceBinding or ClusterResourceBinding.
//   - Work: the objects that one cluster is to apply. A manifest is one object inside a Work.
//   - member: a Kubernetes cluster that has joined. Cluster: its record on the hub.
//   - execution namespace: the namespace on the hub that holds a member's Works.
//   - desired and live: the two sides of a comparison.
//   - targets: the clusters of a binding.
//   - strategy: a RolloutStrategy; rollout: a StagedRollout or ClusterStagedRollout.
//   - revision: the content of an application at one time, by number and hash. Stable is the last revision that has
//     passed every wave.
//   - wave: one step of a rollout; soak: how long a wave must stay healthy.
//   - line: the connection (a tunnel) over which an agent lets the hub send requests to it.
//   - journal: the encrypted copy of its Works that an agent uses while the hub is unreachable.
//   - brake: the limit on concurrent deletions; beyond it they wait for a person's approval.
//   - guard: the program that upgrades an agent's Deployment and rolls it back.
//   - operator: a person who acts on members, through the hub or directly.
//   - session: one run of an agent. It shows the hub if several agents use the same identity.
//   - replica: a pod of a workload; or one of several hub processes on one API.
//   - held, in flight, set aside, lost, returning, catching up: the states of a cluster in a rollout; see
//     ClusterState.
package contract
