package contract_test

import (
	"maps"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/contract"
)

func TestTheLastWordOfAnOwnerIsKnownHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	said := map[string]string{"operators": "group:ops,user:alice", "may": "exec,write", "in": "", "identity": "prefixed", "apiGroups": ""}
	word := contract.LastWordOf(said)
	g.Expect(contract.IsLastWord("", said)).To(BeTrue(), "nothing is known of a last word")
	g.Expect(contract.IsLastWord(word, map[string]string{"operators": "user:alice,group:ops,user:alice", "may": "write,exec", "identity": "prefixed"})).To(BeTrue())
	for key, value := range map[string]string{"operators": "group:ops", "may": "exec,write,secrets", "in": "shop", "identity": "same", "apiGroups": "cert-manager.io"} {
		other := maps.Clone(said)
		other[key] = value
		g.Expect(contract.IsLastWord(word, other)).To(BeFalse(), key)
		g.Expect(contract.IsLastWord(contract.LastWordOf(nil), other)).To(BeFalse(), "nobody is to be let in")
	}
}
