package contract

import "strings"

// Identities on the hub.
const (
	// AgentUserPrefix is followed by the name of the cluster.
	AgentUserPrefix = "system:karmada:agent:"
	// AgentGroup is the organization of every agent's certificate.
	AgentGroup = "system:karmada:agents"
	// BootstrapGroup is the group of every join token.
	BootstrapGroup = "system:bootstrappers:karmada:default-cluster-token"
	// UsedTokenGroup replaces BootstrapGroup when a token is used up: its holder may only fetch the certificate.
	UsedTokenGroup = "system:bootstrappers:fairlead:used-token"
	// BootstrapUserPrefix is followed by the id of the token.
	BootstrapUserPrefix = "system:bootstrap:"
)

// Field managers, by writer. They are recorded in existing objects, so none is ever renamed: that of the
// customizations stage is the stage's former name.
const (
	FieldManagerAgent          = "fairlead-agent"
	FieldManagerInstall        = "fairlead-install"
	FieldManagerUpgrade        = "fairlead-upgrade"
	FieldManagerDetector       = "fairlead-detector"
	FieldManagerDependencies   = "fairlead-dependencies"
	FieldManagerScheduler      = "fairlead-scheduler"
	FieldManagerRollout        = "fairlead-rollout"
	FieldManagerBinding        = "fairlead-binding"
	FieldManagerCustomizations = "fairlead-interpretation"
	FieldManagerStatus         = "fairlead-status"
	FieldManagerCluster        = "fairlead-cluster"
	FieldManagerFailover       = "fairlead-failover"
	FieldManagerRebalance      = "fairlead-rebalance"
	FieldManagerRemedy         = "fairlead-remedy"
	FieldManagerReplicas       = "fairlead-replicas"
	FieldManagerQuotas         = "fairlead-quotas"
	FieldManagerCronScaling    = "fairlead-cronscaling"
	FieldManagerRegistration   = "fairlead-registration"
	FieldManagerBackup         = "fairlead-backup"
	FieldManagerCLI            = "fairlead-cli"
	FieldManagerDashboard      = "fairlead-dashboard"
)

// AgentUser returns the user name of a cluster's agent.
func AgentUser(cluster string) string { return AgentUserPrefix + cluster }

// AgentCluster returns the cluster of an agent's user name; false if it is not one.
func AgentCluster(user string) (string, bool) {
	cluster, ok := strings.CutPrefix(user, AgentUserPrefix)
	return cluster, ok && cluster != ""
}

// RenewalRequest returns the name of the certificate signing request with which a cluster's agent renews its
// certificate. It is no valid label, so no request of a join has this name.
func RenewalRequest(cluster string) string { return cluster + ".renewal" }
