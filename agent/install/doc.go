// Package install runs an agent inside its member.
//
//	Reads:     the agent's pods, to say what is in their way; StorageClasses, to choose where
//	           its state is kept.
//	Writes:    a Deployment, its service account and its rights, in namespace
//	           karmada-system of the member; the Secret that holds the agent's state.
//	Owns:      objects of the member with the label app.kubernetes.io/name=fairlead-agent.
//	Invariant: what is there already is brought to what is wished, and nothing else is
//	           touched.
//	Next:      the agent in the pod, which keeps its state in the Secret.
package install
