package approve

import (
	"fmt"
	"slices"
	"time"

	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
)

// Verdict is the outcome for a request.
type Verdict string

// The verdicts.
const (
	// Approve means that the certificate is issued.
	Approve Verdict = "Approve"
	// Deny means that the request is refused for good.
	Deny Verdict = "Deny"
	// Wait means that an operator must accept the request first.
	Wait Verdict = "Wait"
)

// Input is a request, and what the hub knows about it.
type Input struct {
	// Now is the hub's time.
	Now time.Time
	// Request is what is requested, and by whom.
	Request Request
	// UID is the UID of the CertificateSigningRequest.
	UID string
	// MemberID is the id that the member claims.
	MemberID string
	// Token is the token that was presented; nil if the hub does not know its id.
	Token *bootstrap.Token
	// Cluster is the existing Cluster of the requested name; nil if there is none.
	Cluster *Cluster
	// ReservedFor is the id of the forgotten member for which the name is reserved; empty if it is not reserved.
	ReservedFor string
	// Others are the names of other Clusters with the same member id.
	Others []string
	// AskOnly says that the request only asks what the decision would be.
	AskOnly bool
	// Manual says that an operator must accept every join, whatever its token says.
	Manual bool
}

// Cluster is an existing Cluster.
type Cluster struct {
	// ID is the id of its member; empty if none has joined yet.
	ID string
	// Leaving says that it was forgotten or is being deleted.
	Leaving bool
	// Join is the id of the join whose agent has the rights of this Cluster; empty if its member joined before joins
	// had ids.
	Join string
	// Fingerprint is the fingerprint of the certificate that was issued last; empty if unknown.
	Fingerprint string
}

// Decision is the verdict, and the reason for it.
type Decision struct {
	Verdict Verdict
	// Reason is one of the reasons in package contract.
	Reason string
	// Message is a sentence for the requester that says what to do next.
	Message string
	// Join says that the approved request is a join: the token must be marked as used, and the Cluster created.
	Join bool
	// Adopt is the id of the join to record on a Cluster that has none: its agent has a certificate of that join.
	Adopt string
}

// Decide decides whether to issue the certificate. If the request only asks, it is denied in any case, with the answer.
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
			"This is not a request for an agent's certificate: it does not name the join that its key belongs to. Join with `agent join` of the hub's version.")
	}
	if refused := member(in); refused != nil {
		return *refused
	}
	return accepted(in)
}

// Decide decides whether to issue the certificate. A request that only asks is denied in any case, with the answer as
// the message.
func accepted(in Input) Decision {
	name, by := in.Request.Cluster, ""
	again := joinedBefore(in) && in.Token.Member != in.MemberID
	if in.Manual || in.Token.Manual || again {
		word := in.Token.AcceptedFor(in.UID)
		if word == nil && !in.Token.UsedFor(in.UID) {
			if again {
				return Decision{Verdict: Wait, Reason: contract.ReasonAwaitingApproval, Message: fmt.Sprintf(
					"A member that claims to be %s, which joined as cluster %s before, asks to join again with token %s, which was not made for it: "+
						"accept it with `hub clusters approve %s` if you expect it, or give the member a token from `hub token create --rejoin %s`.",
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

// joinedBefore says whether a member has had the name. A member's id is no secret, so the holder of another token that
// admits the name can only claim to be that member.
func joinedBefore(in Input) bool {
	return in.ReservedFor != "" || in.Cluster != nil && in.Cluster.ID != ""
}

// renewal decides about an agent that asks for the next certificate of its own name.
func renewal(in Input) Decision {
	name := in.Request.Cluster
	switch {
	case in.ReservedFor != "" && (in.Cluster == nil || in.Cluster.Leaving): // whoever started to forget the Cluster was interrupted
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
		return deny(contract.ReasonFormerJoin, "The certificate used for this request is from an earlier join of cluster %s, which ended when the member joined again: "+
			"join with a token from `hub token create --rejoin %s`.", name, name)
	case in.Cluster.Fingerprint != "" && in.Request.Credential != "" && in.Request.Credential != in.Cluster.Fingerprint:
		return deny(contract.ReasonNotTheLastCertificate, "The certificate used for this request is not the latest one of the agent of cluster %s: "+
			"somebody else may have a copy. To lock them out, have the member join again with what `hub token create --rejoin %s` prints.", name, name)
	case has != "" && in.Request.Join != has, has == "" && in.Request.Join != "" && in.Request.Join != in.Request.ownJoin():
		return deny(contract.ReasonMalformedRequest, "This is not a request for the certificate of the agent of cluster %s: it names another join than the agent's.", name)
	}
	out := Decision{
		Verdict: Approve, Reason: contract.ReasonRenewalApproved,
		Message: fmt.Sprintf("The agent of cluster %s asked for its next certificate.", name),
	}
	if in.Cluster.Join == "" {
		out.Adopt = has
	}
	return out
}

// token returns a refusal if the token does not admit this request; nil if it does.
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
		return nil // an earlier attempt for this very request got that far
	case in.Token.UsesLeft() == 0 && len(in.Token.Uses) == 1:
		return refuse(contract.ReasonTokenUsed, "Token %s was used already, at %s by cluster %s: make another with %s.",
			id, in.Token.Uses[0].At.Format(time.RFC3339), in.Token.Uses[0].Cluster, tokenCommand(name))
	case in.Token.UsesLeft() == 0:
		return refuse(contract.ReasonTokenUsed, "Token %s was good for %d joins, and all of them are used: make another with %s.",
			id, in.Token.MaxUses, tokenCommand(name))
	case in.Token.Expired(in.Now):
		return refuse(contract.ReasonTokenExpired,
			"Token %s expired at %s: make another with %s.", id, in.Token.Expires.Format(time.RFC3339), tokenCommand(name))
	default:
		return nil
	}
}

// member returns a refusal if the member cannot have the name; nil if it can.
func member(in Input) *Decision {
	name := in.Request.Cluster
	switch {
	case !plausible(in.MemberID):
		return refuse(contract.ReasonMalformedRequest,
			"The request does not say which member asks: its annotation %s must be the UID of the member's namespace kube-system. "+
				"Join with `agent join` of the hub's version.", contract.MemberIDAnnotation)
	case in.Cluster != nil && in.Cluster.Leaving:
		return refuse(contract.ReasonClusterLeaving,
			"Cluster %s is being removed from this hub: join again when it is gone.", name)
	case in.Cluster != nil && in.Cluster.ID != "" && in.Cluster.ID != in.MemberID:
		refused := taken(name)
		return &refused
	case in.ReservedFor != "" && in.ReservedFor != in.MemberID:
		return refuse(contract.ReasonNameReserved, "The name %s is kept for a member that was forgotten: choose another name, "+
			"or give this one up with `hub forget %s --release` if that member is gone for good.", name, name)
	case in.Token.Member != "" && in.Token.Member != in.MemberID:
		return refuse(contract.ReasonTokenOfAnotherMember,
			"Token %s is for the member that joined as %s before, and this is another member: make a token for it with %s.", in.Token.ID, name, tokenCommand(name))
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
