package contract

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// Namespaces and names on the hub.
const (
	// SystemNamespace is the namespace of an agent in its member.
	SystemNamespace = "karmada-system"
	// ClusterNamespace holds the leases of the agents and the RBAC for them.
	ClusterNamespace = "karmada-cluster"
	// DefaultExecutionNamespacePrefix is followed by the name of the cluster.
	DefaultExecutionNamespacePrefix = "karmada-es-"
	// DefaultSchedulerName is the hub's own scheduler: it places bindings that name it, or no scheduler.
	DefaultSchedulerName = "default-scheduler"
	// MaxClusterNameLength leaves room for the prefix in the name of a namespace.
	MaxClusterNameLength = 48
)

// ExecutionNamespace returns the namespace that holds the Works of a cluster.
func ExecutionNamespace(prefix, cluster string) string { return prefix + cluster }

// ClusterOf returns the cluster of an execution namespace; false if it is not one.
func ClusterOf(prefix, namespace string) (string, bool) {
	cluster, ok := strings.CutPrefix(namespace, prefix)
	return cluster, ok && cluster != ""
}

// AgentEvents is how many names there are for an agent's events in its execution namespace. The hub's API lets an
// agent create no other events, and it can neither delete nor recreate them before they expire: that bounds what an
// agent can leave there.
const AgentEvents = 1000

// AgentEventName returns one of the names, from 0 to AgentEvents-1.
func AgentEventName(n int) string { return fmt.Sprintf("agent-%03d", n) }

// BindingName returns the name of a template's binding.
func BindingName(kind, name string) string {
	return strings.ToLower(dotted(name) + "-" + kind)
}

// WorkName returns the name of the Work for a template. The namespace of a cluster-scoped template is empty.
func WorkName(kind, namespace, name string) string {
	name = dotted(name)
	key := name + "-" + kind
	if namespace != "" {
		key = namespace + "-" + key
	}
	return strings.ToLower(name) + "-" + Hash(strings.ToLower(key))
}

// Hash returns the short hash that the names of this API use: 32-bit FNV-1a in decimal, with each digit replaced by a
// character such that no words result.
func Hash(s string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s)) // a hash never fails
	const digits = "456789bcdf"
	out := []byte(strconv.FormatUint(uint64(h.Sum32()), 10))
	for i, c := range out {
		out[i] = digits[c-'0']
	}
	return string(out)
}

// dotted makes the name of an RBAC object, which may contain colons, valid for other kinds.
func dotted(name string) string { return strings.ReplaceAll(name, ":", ".") }

// ExclusionsName is the name of the ConfigMap in the namespace kube-public in which the hub tells all authenticated
// users which objects stay on it: see selector.ReadExclusions.
const ExclusionsName = "fairlead-exclusions"

// RetiredName returns the name of the ConfigMap in ClusterNamespace that reserves the name of a forgotten cluster,
// and tells its agent that it was forgotten.
func RetiredName(cluster string) string { return "retired-" + cluster }

// Keys of that ConfigMap.
const (
	// RetiredMemberKey is the ID of the member for which the name is reserved.
	RetiredMemberKey = "member"
	// RetiredAtKey is when it was forgotten (RFC 3339), RetiredByKey by whom.
	RetiredAtKey = "at"
	RetiredByKey = "by"
	// RetiredCertificateKey holds the facts about the agent's last certificate, as JSON.
	RetiredCertificateKey = "certificate"
)
