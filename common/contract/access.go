package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// What an owner allows operators of the hub to do in a member is kept in the member, under one name in SystemNamespace.
const (
	// ConnectName is the name of the ServiceAccount that may only impersonate, of its rights, and of the ConfigMap with what
	// the owner allows. No Work changes any of these.
	ConnectName = "fairlead-connect"
	// ConnectUserPrefix comes before the names of operators and of their groups in a member, unless the owner says that
	// they are the same there as at the hub.
	ConnectUserPrefix = "fairlead:"
)

// Keys of the ConfigMap ConnectName. Values are lists with commas between, but for the identity.
const (
	ConnectOperatorsKey = "operators"
	ConnectMayKey       = "may"
	ConnectInKey        = "in"
	ConnectIdentityKey  = "identity"
	ConnectAPIGroupsKey = "apiGroups"
)

const (
	// AgentName is the name of an agent that runs in its member, and of the Secret there that keeps what it is on the hub.
	AgentName = "fairlead-agent"
	// LastWordAnnotation is on that Secret and keeps what the owner said last with `agent operators` (LastWordOf). What installs agents,
	// be it Helm or kubectl, may put an older ConfigMap ConnectName back, and never writes this.
	LastWordAnnotation = "fairlead.dev/operators-last-word"
	// lastWordOff is the last word of an owner who lets nobody in.
	lastWordOff = "off"
)

// LastWordOf returns what is kept of data of the ConfigMap ConnectName where its owner said so.
func LastWordOf(data map[string]string) string {
	if data[ConnectOperatorsKey] == "" {
		return lastWordOff
	}
	sum := sha256.New()
	for _, key := range []string{ConnectOperatorsKey, ConnectMayKey, ConnectInKey, ConnectIdentityKey, ConnectAPIGroupsKey} {
		if data[key] != "" { // so that keys of later versions change nothing where they say nothing
			words := strings.Split(data[key], ",")
			slices.Sort(words)
			sum.Write([]byte(key + "=" + strings.Join(slices.Compact(words), ",") + "\n"))
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// IsLastWord says whether data of the ConfigMap ConnectName are what the owner said last. Empty is the word of an owner who said nothing
// beside it.
func IsLastWord(word string, data map[string]string) bool {
	return word == "" || word == LastWordOf(data)
}
