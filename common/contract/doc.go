// Package contract holds every name on the wire, once: labels, annotations,
// finalizers, namespaces, identities, field managers, and the rules by which names
// of bindings and Works are made. Programs that speak this API depend on them.
//
// The words of this code base, one per idea:
//
//   - template: an object that a user wrote on the hub, to be propagated.
//   - policy: a PropagationPolicy or ClusterPropagationPolicy; an override policy is
//     always called so.
//   - claim: the labels and annotations on a template that say which policy has it.
//   - binding: a ResourceBinding or ClusterResourceBinding.
//   - Work: what one cluster is to apply. A manifest is one object inside a Work.
//   - member: a Kubernetes cluster that has joined. Cluster: its record on the hub.
//   - execution namespace: the namespace on the hub that holds a member's Works.
//   - desired and live: the two sides of a comparison.
//   - targets: the clusters of a binding.
//   - strategy: a RolloutStrategy; rollout: a StagedRollout or ClusterStagedRollout.
//   - revision: what an application consists of at one time, by number and hash. Stable is the last
//     that has passed every wave.
//   - wave: one step of a rollout; soak: how long it must be well.
//   - line: the connection over which an agent lets the hub send requests to it, which others call a tunnel.
//   - journal: the encrypted copy of its Works that an agent goes on by while the hub is away.
//   - brake: what holds many deletions at once until a person answers.
//   - operator: a person who acts on members, through the hub or beside it.
//   - session: one run of an agent. The hub tells by it whether several pass for one.
//   - replica: of a workload a pod; of a hub one of several programs on one API.
//   - held, in flight, set aside, lost, returning, catching up: how a cluster is in a rollout; see
//     ClusterState.
package contract
