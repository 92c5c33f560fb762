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
	// ClusterNamespace holds the leases of the agents and their rights to them.
	ClusterNamespace = "karmada-cluster"
	// DefaultExecutionNamespacePrefix is followed by the name of the cluster.
	DefaultExecutionNamespacePrefix = "karmada-es-"
	// DefaultSchedulerName is the hub's own scheduler: it places bindings that name it, or none.
	DefaultSchedulerName = "default-scheduler"
	// MaxClusterNameLength leaves room for the prefix in a namespace's name.
	MaxClusterNameLength = 48
)

// ExecutionNamespace returns the namespace that holds the Works of a cluster.
func ExecutionNamespace(prefix, cluster string) string { return prefix + cluster }

// ClusterOf returns the cluster whose execution namespace this is, and whether it is
// one.
func ClusterOf(prefix, namespace string) (string, bool) {
	cluster, ok := strings.CutPrefix(namespace, prefix)
	return cluster, ok && cluster != ""
}

// AgentEvents is how many names there are for the events of an agent in its execution
// namespace. The hub's API lets an agent make no event of another name, and none can be
// deleted or made anew before it ends by itself: that bounds what an agent can leave there.
const AgentEvents = 1000

// AgentEventName returns one of the names, from 0 to AgentEvents-1.
func AgentEventName(n int) string { return fmt.Sprintf("agent-%03d", n) }

// BindingName returns the name of the binding of a template.
func BindingName(kind, name string) string {
	return strings.ToLower(dotted(name) + "-" + kind)
}

// WorkName returns the name of the Work that carries a template to a cluster. The
// namespace of a cluster-scoped template is empty.
func WorkName(kind, namespace, name string) string {
	name = dotted(name)
	key := name + "-" + kind
	if namespace != "" {
		key = namespace + "-" + key
	}
	return strings.ToLower(name) + "-" + Hash(strings.ToLower(key))
}

// Hash returns the short form of a string that the names of this API use: 32 bit
// FNV-1a in decimal, each digit replaced by a letter or digit that makes no word.
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

// dotted makes a name of RBAC objects, which may have colons, fit for other kinds.
func dotted(name string) string { return strings.ReplaceAll(name, ":", ".") }

// RetiredName returns the name of the ConfigMap in ClusterNamespace that keeps the name of
// a cluster that was forgotten, and tells its agent so.
func RetiredName(cluster string) string { return "retired-" + cluster }

// Keys of that ConfigMap.
const (
	// RetiredMemberKey is the id of the member for which the name is kept.
	RetiredMemberKey = "member"
	// RetiredAtKey is when it was forgotten (RFC 3339), RetiredByKey by whom.
	RetiredAtKey = "at"
	RetiredByKey = "by"
	// RetiredCertificateKey has, as JSON, the facts about the agent's last certificate.
	RetiredCertificateKey = "certificate"
)
