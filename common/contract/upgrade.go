package contract

// Names shared by an agent in a pod and the guard of its upgrades, in the member.
const (
	// AgentUpgradeAnnotation, on the Deployment of an agent, is the guard's record of the last upgrade, in JSON. On the
	// pod template it identifies the start of the agent.
	AgentUpgradeAnnotation = "fairlead.dev/agent-upgrade"
	// AgentStartVariable is the environment variable with the ID of this start of an agent in a pod.
	AgentStartVariable = "FAIRLEAD_AGENT_START"
)

// AgentJoinAnnotation on the pod template of an agent installed with `agent join --install` identifies its join. When
// it changes, the Deployment replaces the pod, and the new pod uses the credentials of the new join.
const AgentJoinAnnotation = "fairlead.dev/agent-join"

// SafeKindsAnnotation on the Deployment of an agent that may apply some kinds in its own namespace lists those that
// its owner declared to run no pods and grant no rights, as RESOURCE.GROUP, separated by commas.
const SafeKindsAnnotation = "fairlead.dev/safe-kinds"
