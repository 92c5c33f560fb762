package contract

// Names by which an agent in a pod and the guard of its upgrades know each other, in the member.
const (
	// AgentUpgradeAnnotation is on the Deployment of an agent: what the guard knows of the last
	// upgrade, in JSON. On the template of its pods it is which start of the agent this is.
	AgentUpgradeAnnotation = "fairlead.dev/agent-upgrade"
	// AgentStartVariable tells the agent in a pod which start of it this is.
	AgentStartVariable = "FAIRLEAD_AGENT_START"
)

// AgentJoinAnnotation is on the template of the pods of an agent that `agent join --install` has installed: of which join it is. With
// another one the Deployment makes a pod anew, which takes over what the hub gave it.
const AgentJoinAnnotation = "fairlead.dev/agent-join"

// SafeKindsAnnotation is on the Deployment of an agent that is confined to kinds, in its own namespace: those of which its owner said that they run no
// pods and give no rights, RESOURCE.GROUP, separated by commas.
const SafeKindsAnnotation = "fairlead.dev/safe-kinds"
