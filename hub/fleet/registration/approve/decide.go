package approve

import (
	"fmt"
	"slices"
	"time"

	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
)

// Verdict is what happens to a request.
type Verdict string

// Verdicts.
const (
	// Approve : the certificate is issued.
	Approve Verdict = "Approve"
	// Deny : it is not, and the request is done with.
	Deny Verdict = "Deny"
	// Wait : an operator is to accept it first.
	Wait Verdict = "Wait"
)

// Input is a request and what the hub knows about it.
type Input struct {
	// Now is the hub's time.
	Now time.Time
	// Request is what is asked for, and by whom.
	Request Request
	// UID of the object that asks.
	UID string
	// MemberID is the id that the member gives itself.
	MemberID string
	// Token is the token that was presented; nil if the hub has none of its id.
	Token *bootstrap.Token
	// Cluster is the cluster of the name that is asked for; nil if there is none.
	Cluster *Cluster
	// ReservedFor is the id of the member that was forgotten and for which the name is
	// kept; empty if it is not.
	ReservedFor string
	// Others are the names of other Clusters with the same member id.
	Others []string
	// AskOnly says that the member only wants to know what would be decided.
	AskOnly bool
	// Manual says that an operator is to accept every join, whatever its token says.
	Manual bool
}

// Cluster is a Cluster that there is.
type Cluster struct {
	// ID of its member; empty if nobody has joined as it yet.
	ID string
	// Leaving says that it was forgotten, or is being deleted.
	Leaving bool
	// Join is the id of the join whose agent has the rights of this Cluster; empty if its member
	// joined a hub that knew no joins.
	Join string
	// Fingerprint is the fingerprint of the certificate that was issued last; empty if it is not known.
	Fingerprint string
}

// Decision is what happens, and why.
type Decision struct {
	// Verdict is what happens.
	Verdict Verdict
	// Reason is one of the reasons in package contract.
	Reason string
	// Message is a sentence for whoever asked, and says what to do next.
	Message string
	// Join says that an approved request is one to join: the token is to be marked as
	// used and the Cluster to be made.
	Join bool
	// Adopt is the id of the join that a Cluster without one gets from here on: its agent has a
	// certificate of it by now.
	Adopt string
}

// Decide says whether the certificate may be issued. Of a question only the answer is issued.
func Decide(in Input) Decision {
	out := decide(in)
	if !in.AskOnly || out.Verdict == Deny {
		return out
	}
	accepted := ""
	if out.Verdict == Wait {
		accepted = ", once an operator of the hub accepts it"
	}
	return deny(contract.ReasonJoinPossible, "Member %s can join as cluster %s%s.", in.MemberID, in.Request.Cluster, accepted)
}

func decide(in Input) Decision {
	if err := in.Request.wrong(); err != nil {
		return deny(contract.ReasonMalformedRequest,
			"This is not a request for an agent's certificate: %v. Join with `agent join` of the hub's version.", err)
	}
	if in.Request.User == contract.AgentUser(in.Request.Cluster) && slices.Contains(in.Request.Groups, contract.AgentGroup) {
		return renewal(in)
	}
	if refused := token(in); refused != nil {
		return *refused
	}
	if in.Request.Join != in.Request.ownJoin() {
		return deny(contract.ReasonMalformedRequest,
			"This is not a request for an agent's certificate: it does not name the join that is made with its key. Join with `agent join` of the hub's version.")
	}
	if refused := member(in); refused != nil {
		return *refused
	}
	return accepted(in)
}

// accepted decides about a join with which nothing is wrong.
func accepted(in Input) Decision {
	name, by := in.Request.Cluster, ""
	again := joinedBefore(in) && in.Token.Member != in.MemberID
	if in.Manual || in.Token.Manual || again {
		word := in.Token.AcceptedFor(in.UID)
		if word == nil && !in.Token.UsedFor(in.UID) {
			if again {
				return Decision{Verdict: Wait, Reason: contract.ReasonAwaitingApproval, Message: fmt.Sprintf(
					"A member that says to be %s, which has joined as cluster %s before, asks to join again with token %s, which was not made for it: "+
						"accept it with `hub clusters approve %s` if you know why, or give its member a token from `hub token create --rejoin %s`.",
					in.MemberID, name, in.Token.ID, name, name)}
			}
			return Decision{Verdict: Wait, Reason: contract.ReasonAwaitingApproval, Message: fmt.Sprintf(
				"Member %s asks to join as cluster %s with token %s: accept it with `hub clusters approve %s`, or withdraw the token with `hub token revoke %s`.",
				in.MemberID, name, in.Token.ID, name, in.Token.ID)}
		}
		if word != nil {
			by = "; " + word.By + " accepted it"
		}
	}
	return Decision{
		Verdict: Approve, Reason: contract.ReasonJoinApproved, Join: true,
		Message: fmt.Sprintf("Member %s joins as cluster %s: token %s, name and member id agree%s.", in.MemberID, name, in.Token.ID, by),
	}
}

// joinedBefore says whether a member has had the name: its id is no secret, so who has another
// token that happens to admit the name may only say that it is that one.
func joinedBefore(in Input) bool {
	return in.ReservedFor != "" || in.Cluster != nil && in.Cluster.ID != ""
}

// renewal decides about an agent that asks for what it already is.
func renewal(in Input) Decision {
	name := in.Request.Cluster
	switch {
	case in.ReservedFor != "" && (in.Cluster == nil || in.Cluster.Leaving): // a Cluster that is as before: whoever began to forget it was stopped
		return deny(contract.ReasonNameReserved, "Cluster %s was forgotten on this hub: join again with a token from %s.", name, tokenCommand(name))
	case in.Cluster == nil:
		return deny(contract.ReasonClusterUnknown,
			"There is no Cluster %s on this hub any more: join again with a token from %s.", name, tokenCommand(name))
	case in.MemberID != "" && in.Cluster.ID != "" && in.MemberID != in.Cluster.ID:
		return taken(name)
	}
	has := contract.JoinOf(in.Request.Groups)
	switch {
	case in.Cluster.Join != "" && has != in.Cluster.Join:
		return deny(contract.ReasonFormerJoin, "The certificate with which this was asked is of a former join of cluster %s, which ended when its member joined again: "+
			"join with a token from `hub token create --rejoin %s`.", name, name)
	case in.Cluster.Fingerprint != "" && in.Request.Credential != "" && in.Request.Credential != in.Cluster.Fingerprint:
		return deny(contract.ReasonNotTheLastCertificate, "The certificate with which this was asked is not the one that the agent of cluster %s was given last: "+
			"somebody else may have a copy. Lock everybody else out: have the member join again with what `hub token create --rejoin %s` prints.", name, name)
	case has != "" && in.Request.Join != has, has == "" && in.Request.Join != "" && in.Request.Join != in.Request.ownJoin():
		return deny(contract.ReasonMalformedRequest, "This is not a request for the certificate of the agent of cluster %s: it names another join than the agent has.", name)
	}
	out := Decision{
		Verdict: Approve, Reason: contract.ReasonRenewalApproved,
		Message: fmt.Sprintf("The agent of cluster %s asked for another certificate of its own.", name),
	}
	if in.Cluster.Join == "" {
		out.Adopt = has
	}
	return out
}

// token says why a token lets nobody join with this request; nil if it does.
func token(in Input) *Decision {
	name := in.Request.Cluster
	id, ok := bootstrap.IDOfUser(in.Request.User)
	switch {
	case !ok || !slices.Contains(in.Request.Groups, contract.BootstrapGroup):
		return refuse(contract.ReasonNotAToken,
			"User %s did not present a join token: join with a token from %s.", in.Request.User, tokenCommand(name))
	case in.Token == nil:
		return refuse(contract.ReasonTokenUnknown,
			"The hub has no token %s any more: make another with %s.", id, tokenCommand(name))
	case in.Token.Cluster == "":
		return refuse(contract.ReasonTokenOfAnotherCluster,
			"Token %s names no cluster, so nobody can join with it: make one with %s.", id, tokenCommand(name))
	case !in.Token.Admits(name):
		return refuse(contract.ReasonTokenOfAnotherCluster,
			"Token %s is for cluster %s, not for %s: make one with %s.", id, in.Token.Cluster, name, tokenCommand(name))
	case in.Token.UsedFor(in.UID):
		return nil // we had begun with this very request
	case in.Token.UsesLeft() == 0 && len(in.Token.Uses) == 1:
		return refuse(contract.ReasonTokenUsed, "Token %s was used already, at %s by cluster %s: make another with %s.",
			id, in.Token.Uses[0].At.Format(time.RFC3339), in.Token.Uses[0].Cluster, tokenCommand(name))
	case in.Token.UsesLeft() == 0:
		return refuse(contract.ReasonTokenUsed, "Token %s was good for %d joins, and there were as many: make another with %s.",
			id, in.Token.MaxUses, tokenCommand(name))
	case in.Token.Expired(in.Now):
		return refuse(contract.ReasonTokenExpired,
			"Token %s expired at %s: make another with %s.", id, in.Token.Expires.Format(time.RFC3339), tokenCommand(name))
	default:
		return nil
	}
}

// member says why a member cannot have the name; nil if it can.
func member(in Input) *Decision {
	name := in.Request.Cluster
	switch {
	case !plausible(in.MemberID):
		return refuse(contract.ReasonMalformedRequest,
			"The request does not say which member asks: its annotation %s must be the UID of the member's namespace kube-system. "+
				"Join with `agent join` of the hub's version.", contract.MemberIDAnnotation)
	case in.Cluster != nil && in.Cluster.Leaving:
		return refuse(contract.ReasonClusterLeaving,
			"Cluster %s is just being removed from this hub: join again when it is gone.", name)
	case in.Cluster != nil && in.Cluster.ID != "" && in.Cluster.ID != in.MemberID:
		refused := taken(name)
		return &refused
	case in.ReservedFor != "" && in.ReservedFor != in.MemberID:
		return refuse(contract.ReasonNameReserved, "The name %s is kept for a member that was forgotten: choose another name, "+
			"or give this one up with `hub forget %s --release` if that member is gone for good.", name, name)
	case in.Token.Member != "" && in.Token.Member != in.MemberID:
		return refuse(contract.ReasonTokenOfAnotherMember,
			"Token %s is for the member that had joined as %s before, and this is another one: make a token for it with %s.", in.Token.ID, name, tokenCommand(name))
	case len(in.Others) > 0:
		other := slices.Min(in.Others)
		return refuse(contract.ReasonMemberAlreadyJoined,
			"This member is already on this hub as cluster %s: keep that name, or remove Cluster %s before it joins as %s.", other, other, name)
	default:
		return nil
	}
}

func taken(name string) Decision {
	return deny(contract.ReasonNameTaken,
		"The name %s is taken by another member: choose another name, or remove Cluster %s from the hub if that member is gone for good.", name, name)
}

// plausible says whether a string may be the UID of an object.
func plausible(id string) bool {
	const shortest, longest = 8, 128
	if len(id) < shortest || len(id) > longest {
		return false
	}
	for _, c := range id {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.':
		default:
			return false
		}
	}
	return true
}

func tokenCommand(cluster string) string {
	return fmt.Sprintf("`hub token create --cluster %s`", cluster)
}

func deny(reason, format string, args ...any) Decision {
	return Decision{Verdict: Deny, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func refuse(reason, format string, args ...any) *Decision {
	d := deny(reason, format, args...)
	return &d
}
