package rules

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/common/contract"
)

// Names of the API server's own.
const (
	systemPrefix = "system:"
	nodeUser     = "system:node:"
	accountUser  = "system:serviceaccount:"
	mastersGroup = "system:masters"
	agentName    = "fairlead-agent"
)

// Operator is who asks, as the hub says it.
type Operator struct {
	User   string
	Groups []string
}

// Input is what it takes to decide.
type Input struct {
	// Cluster is the name of the member at the hub, for sentences.
	Cluster  string
	Rules    Rules
	Operator Operator
	Request  Request
}

// Decision says whether a request goes through, and as whom.
type Decision struct {
	Allowed bool
	// As is who asks in the member. The groups of a ServiceAccount are left to the API server.
	As Operator
	// Reason is a sentence why not.
	Reason string
}

// Decide says whether the owner of a member allows a request of an operator.
func Decide(in Input) Decision {
	if in.Rules.IsOff() {
		return refuse(in, "its owner lets no operators in; the owner can, with `agent operators group:NAME` beside the agent, or `agent join --operators`")
	}
	as, listed := in.Rules.as(in.Operator)
	if !listed {
		return refuse(in, fmt.Sprintf("its owner lets in %s, and %s is not among them", strings.Join(in.Rules.Lists().Operators, ", "), in.Operator.User))
	}
	needed, what := needs(in.Request, in.Rules.APIGroups)
	if what == "" {
		what = in.Rules.outOfBounds(in.Request)
	}
	if what == "" {
		for _, permission := range needed {
			if !slices.Contains(in.Rules.May, permission) {
				what = string(permission)
			}
		}
	}
	if what != "" {
		return refuse(in, fmt.Sprintf("its owner lets operators %s%s; not %s", strings.Join(append([]string{"get, list, watch, log"}, in.Rules.Lists().May...), ", "), in.Rules.where(), what))
	}
	return Decision{Allowed: true, As: as}
}

func refuse(in Input, sentence string) Decision {
	return Decision{Reason: in.Cluster + ": " + sentence}
}

// as returns who an operator is in the member, and whether the owner lets them in at all. What the API server calls
// its own (system:) comes through only where it is listed by its whole name, and groups that are not listed are left
// out: less, never more.
func (r Rules) as(operator Operator) (Operator, bool) {
	prefix := contract.ConnectUserPrefix
	if r.Identity == Same {
		prefix = ""
	}
	out := Operator{User: prefix + operator.User}
	for _, group := range sorted(operator.Groups) {
		if slices.Contains(r.Groups, group) {
			out.Groups = append(out.Groups, prefix+group)
		}
	}
	named := slices.Contains(r.Users, operator.User)
	if operator.User == "" || !named && (len(out.Groups) == 0 || strings.HasPrefix(operator.User, systemPrefix)) {
		return Operator{}, false
	}
	if strings.HasPrefix(out.User, accountUser) {
		out.Groups = nil
	}
	return out, true
}

// outOfBounds says why a request is beyond the namespaces that the owner names, or reaches for what lets the agent in.
func (r Rules) outOfBounds(request Request) string {
	if request.Path != "" || isSelfReview(request) {
		return ""
	}
	if len(r.Namespaces) > 0 && !slices.Contains(r.Namespaces, request.Namespace) {
		if request.Namespace == "" {
			return "what is in all namespaces or in none"
		}
		return "what is in " + request.Namespace
	}
	if request.Reads() && request.Resource != "secrets" && !strings.HasSuffix(request.Subresource, "proxy") {
		return ""
	}
	if request.Namespace == contract.SystemNamespace {
		return "more than reading in " + contract.SystemNamespace + ", where the agent itself is"
	}
	if hasName(request.Name, contract.ConnectName) || hasName(request.Name, agentName) {
		return "changes to " + request.Name + ", which is the agent's own"
	}
	return ""
}

// hasName says whether a name is another or begins with it and a dash.
func hasName(name, other string) bool { return name == other || strings.HasPrefix(name, other+"-") }
