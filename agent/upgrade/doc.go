// Package upgrade changes which image an agent in a pod runs, as the hub wants it and the owner of
// the member allows.
//
//   - Reads: spec.agent of the agent's Cluster; in the member, the agent's Deployment and, once the
//     new agent is late, its pods.
//   - Writes: status.agentUpgrade, by way of clusterstatus. In the member the agent writes what it
//     wants and which start of it the hub has heard, into a ConfigMap, and scales its guard up. The
//     guard, another Deployment with rights of its own, writes the image of the agent's Deployment,
//     with an annotation that is its record, and scales itself down.
//   - Owns: the ConfigMap, and the record.
//   - Invariant: the agent itself may not change its Deployment, so that neither the hub nor a Work
//     can have it run an image that the owner's guard does not allow. One agent runs at a time: the
//     Deployment ends one pod before it makes the next.
//   - Next: the hub, by status.agentUpgrade.
package upgrade
