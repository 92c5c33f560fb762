package approve

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
)

// joinedAs makes both the requesting agent and the Cluster belong to a join.
func joinedAs(in *Input, join string) {
	in.Request.Groups = append(in.Request.Groups, contract.JoinGroup(join))
	in.Cluster = &Cluster{ID: memberID, Join: join}
}

func TestAClusterOfNoJoinGetsThatOfItsAgentWhenItHasTheCertificate(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := valid(t)
	asAgent(&in, "edge-1")
	in.Cluster = &Cluster{ID: memberID}
	g.Expect(Decide(in).Adopt).To(BeEmpty(), "its agent has to fetch the certificate with the rights that it has")
	in.Request.Groups = append(in.Request.Groups, contract.JoinGroup(in.Request.Join))
	g.Expect(Decide(in).Adopt).To(Equal(in.Request.Join))
	in.Cluster.Join = in.Request.Join
	g.Expect(Decide(in).Adopt).To(BeEmpty(), "it has it")
}

func asAgent(in *Input, cluster string) {
	in.Request.User, in.Request.Groups = contract.AgentUser(cluster), []string{contract.AgentGroup, "system:authenticated"}
	in.Token = nil
}

func TestAQuestionIsAnsweredAndNothingIsIssued(t *testing.T) {
	t.Parallel()
	token := func(manual bool) *bootstrap.Token {
		return &bootstrap.Token{ID: "abc123", Cluster: "edge-1", MaxUses: 1, Expires: now().Add(time.Hour), Manual: manual}
	}
	tests := map[string]struct {
		in   Input
		want string
		says string
	}{
		"it could join":                     {in: Input{Token: token(false)}, want: contract.ReasonJoinPossible, says: "can join as cluster edge-1."},
		"a person would be asked":           {in: Input{Token: token(false), Cluster: &Cluster{ID: memberID}}, want: contract.ReasonJoinPossible, says: "once an operator of the hub accepts it"},
		"it could once somebody accepts it": {in: Input{Token: token(true)}, want: contract.ReasonJoinPossible, says: "once an operator of the hub accepts it"},
		"the name is taken":                 {in: Input{Token: token(false), Cluster: &Cluster{ID: otherID}}, want: contract.ReasonNameTaken, says: "taken"},
		"the token is unknown":              {want: contract.ReasonTokenUnknown, says: "abc123"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			in := tc.in
			in.Now, in.Request, in.UID, in.MemberID, in.AskOnly = now(), read(t, nil), "u", memberID, true
			got := Decide(in)
			g.Expect(got.Verdict).To(Equal(Deny))
			g.Expect(got.Join).To(BeFalse(), "the token is not used up")
			g.Expect(got.Reason).To(Equal(tc.want))
			g.Expect(got.Message).To(ContainSubstring(tc.says))
		})
	}
}
