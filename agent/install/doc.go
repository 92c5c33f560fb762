// Package install runs an agent inside its member.
//
//	Reads:     the agent's pods, to report why they do not start; StorageClasses, to choose where its state is kept.
//	Writes:    a Deployment, its ServiceAccount and its RBAC in the namespace karmada-system of the member; the Secret that
//	           holds the agent's state.
//	Owns:      objects of the member with the label app.kubernetes.io/name=fairlead-agent.
//	Invariant: existing objects of the agent are brought to the desired state, and nothing else is touched.
//	Next:      the agent in the pod, which keeps its state in the Secret.
package install
