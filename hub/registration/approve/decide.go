package approve

import (
	"fmt"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"

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
)

// Input is a request and what the hub knows about it.
type Input struct {
	// Now is the hub's time.
	Now time.Time
	// Request is what is asked for.
	Request Request
	// UID of the object that asks.
	UID string
	// Usages that are asked for.
	Usages []certificatesv1.KeyUsage
	// User and Groups are who asks, as the API server authenticated them.
	User   string
	Groups []string
	// MemberID is the id that the member gives itself.
	MemberID string
	// Token is the one that was presented; nil if the hub has none of its id.
	Token *Token
	// Cluster is the one of the name that is asked for; nil if there is none.
	Cluster *Cluster
	// Others are the names of other Clusters with the same member id.
	Others []string
}

// Token is a join token and what it was used for.
type Token struct {
	bootstrap.Token

	// UsedFor is the UID of the request that it was used for.
	UsedFor string
}

// Cluster is a Cluster that there is.
type Cluster struct {
	// ID of its member; empty if nobody has joined as it yet.
	ID string
	// Leaving says that it is being deleted.
	Leaving bool
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
}

// Decide says whether the certificate may be issued.
func Decide(in Input) Decision {
	if err := in.Request.wrong(in.Usages); err != nil {
		return deny(contract.ReasonMalformedRequest,
			"This is not a request for an agent's certificate: %v. Join with `agent join` of the hub's version.", err)
	}
	if in.User == contract.AgentUser(in.Request.Cluster) && slices.Contains(in.Groups, contract.AgentGroup) {
		return renewal(in)
	}
	if refused := token(in); refused != nil {
		return *refused
	}
	if refused := member(in); refused != nil {
		return *refused
	}
	return Decision{
		Verdict: Approve, Reason: contract.ReasonJoinApproved, Join: true,
		Message: fmt.Sprintf("Cluster %s may join: token, name and member id agree.", in.Request.Cluster),
	}
}

// renewal decides about an agent that asks for what it already is.
func renewal(in Input) Decision {
	name := in.Request.Cluster
	switch {
	case in.Cluster == nil:
		return deny(contract.ReasonClusterUnknown,
			"There is no Cluster %s on this hub any more: join again with a token from %s.", name, tokenCommand(name))
	case in.MemberID != "" && in.Cluster.ID != "" && in.MemberID != in.Cluster.ID:
		return taken(name)
	default:
		return Decision{
			Verdict: Approve, Reason: contract.ReasonRenewalApproved,
			Message: fmt.Sprintf("The agent of cluster %s asked for another certificate of its own.", name),
		}
	}
}

// token says why a token lets nobody join with this request; nil if it does.
func token(in Input) *Decision {
	name := in.Request.Cluster
	id, ok := bootstrap.IDOfUser(in.User)
	switch {
	case !ok || !slices.Contains(in.Groups, contract.BootstrapGroup):
		return refuse(contract.ReasonNotAToken,
			"User %s did not present a join token: join with a token from %s.", in.User, tokenCommand(name))
	case in.Token == nil:
		return refuse(contract.ReasonTokenUnknown,
			"The hub has no token %s any more: make another with %s.", id, tokenCommand(name))
	case in.Token.Cluster == "":
		return refuse(contract.ReasonTokenOfAnotherCluster,
			"Token %s names no cluster, so nobody can join with it: make one with %s.", id, tokenCommand(name))
	case in.Token.Cluster != name:
		return refuse(contract.ReasonTokenOfAnotherCluster,
			"Token %s is for cluster %s, not for %s: make one with %s.", id, in.Token.Cluster, name, tokenCommand(name))
	case in.Token.Used() && in.Token.UsedFor == in.UID:
		return nil // we had begun with this very request
	case in.Token.Used():
		return refuse(contract.ReasonTokenUsed,
			"Token %s was used already, at %s: make another with %s.", id, in.Token.UsedAt.Format(time.RFC3339), tokenCommand(name))
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
