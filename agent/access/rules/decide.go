package rules

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"fairlead.dev/common/contract"
)

// Prefixes of the API server's own names.
const (
	systemPrefix = "system:"
	nodeUser     = "system:node:"
	accountUser  = "system:serviceaccount:"
	mastersGroup = "system:masters"
	agentName    = "fairlead-agent"
	rbacGroup    = "rbac.authorization.k8s.io"
)

// maxName bounds the name of an operator, in bytes, so that it fits into the record of operators' actions.
const maxName = 1024

// isName returns whether a name reaches the member's API unchanged. HTTP drops white space around a header value: a
// name that begins with a space could become one of the API server's own.
func isName(name string) bool {
	return name != "" && len(name) <= maxName && name == strings.TrimSpace(name) && utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsControl)
}

// Operator is the person or program that sends the request, as the hub authenticated it.
type Operator struct {
	User   string
	Groups []string
}

// Input holds everything that a decision depends on.
type Input struct {
	// Cluster is the name of the member on the hub, for messages.
	Cluster  string
	Rules    Rules
	Operator Operator
	Request  Request
}

// Decision tells whether a request is allowed, and under which identity.
type Decision struct {
	Allowed bool
	// As is the identity with which the request is sent to the member's API server. The groups of a ServiceAccount
	// are left out, since that API server adds them.
	As Operator
	// Reason is a sentence that says why a request is refused.
	Reason string
}

// Decide returns whether the rules of the member's owner allow a request of an operator.
func Decide(in Input) Decision {
	if in.Rules.Overwritten {
		return refuse(in, "its owner lets no operators in for now, because the settings were changed by something other than `agent operators`, such as an upgrade or a rollback with Helm, or an older version of it; "+
			"the owner can check them with `agent operators` there, and set them with `agent operators group:NAME`")
	}
	if in.Rules.IsOff() {
		return refuse(in, "its owner lets no operators in; the owner can, with `agent operators group:NAME` there")
	}
	if !isName(in.Operator.User) {
		return refuse(in, fmt.Sprintf("the user name cannot be passed to its API: it is empty or longer than %d bytes, begins or ends with a space, or has characters that are not text", maxName))
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

// as returns an operator's identity in the member, and whether the owner admits the operator at all. Names of the API
// server's own (system:) pass only if they are listed in full, and groups that are not listed are dropped, which can
// only take rights away. With Same, only names that the owner listed are kept: an operator who is admitted by a group
// alone could otherwise become any user of the member whose name the hub, or somebody who took it over, puts into
// that group.
func (r Rules) as(operator Operator) (Operator, bool) {
	prefix := contract.ConnectUserPrefix
	if r.Identity == Same {
		prefix = ""
	}
	named := slices.Contains(r.Users, operator.User)
	out := Operator{User: contract.ConnectUserPrefix + operator.User}
	if named {
		out.User = prefix + operator.User
	}
	for _, group := range sorted(operator.Groups) {
		if slices.Contains(r.Groups, group) {
			out.Groups = append(out.Groups, prefix+group)
		}
	}
	if !named && (len(out.Groups) == 0 || strings.HasPrefix(operator.User, systemPrefix)) {
		return Operator{}, false
	}
	if strings.HasPrefix(out.User, accountUser) {
		out.Groups = nil
	}
	return out, true
}

// outOfBounds returns why a request leaves the namespaces that the owner allows, or touches the agent's own access.
func (r Rules) outOfBounds(request Request) string {
	if request.Path != "" || request.IsSelfReview() {
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
	// A request by selector must not reach names that it does not contain either.
	switch {
	case request.Group == "" && request.Resource == "secrets" && request.Namespace == "":
		return "Secrets of all namespaces at once, since the agent's own are among them; name a namespace"
	case request.Group == rbacGroup && request.Verb == verbDeleteCollection:
		return "to delete all " + request.Resource + " at once, since the agent's own are among them; name them one by one"
	}
	if request.Namespace == contract.SystemNamespace || request.Group == "" && request.Resource == "namespaces" && request.BodyName == contract.SystemNamespace {
		return "more than reading in " + contract.SystemNamespace + ", where the agent itself is"
	}
	for _, own := range []string{contract.ConnectName, agentName} {
		for _, name := range []string{request.Name, request.BodyName} {
			if hasName(name, own) {
				return "changes to " + name + ", which is the agent's own"
			}
		}
		if request.BodyName == "" && couldBecome(request.BodyPrefix, own) {
			return "names that the API server generates after " + request.BodyPrefix + ", which could be the agent's own"
		}
	}
	return ""
}

// couldBecome returns whether a name that the API server generates from a prefix could be other, or begin with other
// and a dash. A prefix without a dash is harmless unless it begins with other, since the generated suffix contains no
// dash.
func couldBecome(prefix, other string) bool {
	return strings.HasPrefix(prefix, other) || strings.Contains(prefix, "-") && strings.HasPrefix(other, prefix)
}

// hasName returns whether a name is other, or begins with other and a dash.
func hasName(name, other string) bool { return name == other || strings.HasPrefix(name, other+"-") }
