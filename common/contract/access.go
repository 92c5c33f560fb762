package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// The owner's rules for operators of the hub are stored in the member, in SystemNamespace, in objects of one name.
const (
	// ConnectName is the name of the ServiceAccount that may only impersonate, of its RBAC, and of the ConfigMap with
	// the owner's rules. No Work changes any of these.
	ConnectName = "fairlead-connect"
	// ConnectUserPrefix precedes the names of operators and their groups in a member, unless the owner says that
	// names on the hub and in the member are the same.
	ConnectUserPrefix = "fairlead:"
)

// Keys of the ConfigMap ConnectName. Values are lists separated by commas, except for the identity.
const (
	ConnectOperatorsKey = "operators"
	ConnectMayKey       = "may"
	ConnectInKey        = "in"
	ConnectIdentityKey  = "identity"
	ConnectAPIGroupsKey = "apiGroups"
)

const (
	// AgentName is the name of an agent that runs in its member, and of the Secret with the agent's state.
	AgentName = "fairlead-agent"
	// LastWordAnnotation records on that Secret the owner's last word about operators, set with `agent operators`
	// (LastWordOf). Tools that install agents, such as Helm and kubectl, may restore an older ConfigMap ConnectName,
	// but never write this annotation.
	LastWordAnnotation = "fairlead.dev/operators-last-word"
	// lastWordOff is the last word of an owner who admits nobody.
	lastWordOff = "off"
)

// LastWordOf returns the last word for data of the ConfigMap ConnectName.
func LastWordOf(data map[string]string) string {
	if data[ConnectOperatorsKey] == "" {
		return lastWordOff
	}
	sum := sha256.New()
	for _, key := range []string{ConnectOperatorsKey, ConnectMayKey, ConnectInKey, ConnectIdentityKey, ConnectAPIGroupsKey} {
		if data[key] != "" { // so that keys of later versions change nothing while they are empty
			words := strings.Split(data[key], ",")
			slices.Sort(words)
			sum.Write([]byte(key + "=" + strings.Join(slices.Compact(words), ",") + "\n"))
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// IsLastWord returns whether data of the ConfigMap ConnectName match the owner's last word. An empty word matches
// everything: the owner did not use `agent operators`.
func IsLastWord(word string, data map[string]string) bool {
	return word == "" || word == LastWordOf(data)
}
