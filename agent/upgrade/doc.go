// Package upgrade changes the image of an agent that runs in a pod, as the hub wants it and the owner of the member
// allows.
//
//   - Reads: spec.agent of the agent's Cluster; in the member, the agent's Deployment and, once the new agent is
//     late, its pods.
//   - Writes: status.agentUpgrade, through clusterstatus. In the member the agent writes the requested upgrade, and
//     the ID of its own start once the hub has heard it, into a ConfigMap, and scales its guard up. The guard,
//     another Deployment with rights of its own, writes the image of the agent's Deployment together with an
//     annotation that is its record, and scales itself down.
//   - Owns: the ConfigMap and the record.
//   - Invariant: the agent may not change its own Deployment, so that neither the hub nor a Work can make it run an
//     image that the guard, configured by the owner, does not allow. Only one agent runs at a time: the Deployment's
//     strategy ends the old pod before it creates the new one.
//   - Next: the hub, through status.agentUpgrade.
package upgrade
