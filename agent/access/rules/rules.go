package rules

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"fairlead.dev/common/contract"
)

// Off is the value that admits no operators.
const Off = "off"

// Permission is something beyond reading that the owner may allow operators.
type Permission string

// Values of Permission.
const (
	// Exec allows running programs in containers and attaching to them.
	Exec Permission = "exec"
	// PortForward allows connections to ports of pods.
	PortForward Permission = "port-forward"
	// Write allows creating, changing and deleting objects.
	Write Permission = "write"
	// Secrets allows reading Secrets and, together with Write, changing them; and requesting tokens of
	// ServiceAccounts.
	Secrets Permission = "secrets"
	// PodsProxy allows HTTP requests to pods through the API server.
	PodsProxy Permission = "pods/proxy"
	// ServicesProxy allows HTTP requests to Services through the API server.
	ServicesProxy Permission = "services/proxy"
	// NodesProxy allows HTTP requests to kubelets, which run programs in any container on request.
	NodesProxy Permission = "nodes/proxy"
)

// permissions lists all permissions in the order in which they are displayed.
var permissions = []Permission{Exec, PortForward, Write, Secrets, PodsProxy, ServicesProxy, NodesProxy} //nolint:gochecknoglobals // A constant list.

// Identity is how operators are named in the member.
type Identity string

// Values of Identity.
const (
	// Prefixed maps alice of the hub to fairlead:alice in the member, since she need not be the member's alice.
	Prefixed Identity = "prefixed"
	// Same keeps the names that the owner lists, for hubs and members with the same identity provider: alice if
	// user:alice is listed, and ops if group:ops is. An operator who is admitted by a group alone is fairlead:NAME in
	// that group.
	Same Identity = "same"
)

// Rules are what the owner of a member allows operators of the hub to do. Without Users and Groups nobody is
// admitted.
type Rules struct {
	// Users and Groups are names on the hub.
	Users, Groups []string
	// May lists the permissions beyond reading.
	May []Permission
	// Namespaces bound the access; none means all namespaces and cluster-scoped objects.
	Namespaces []string
	// Identity is how operators are named in the member.
	Identity Identity
	// APIGroups are API groups of custom resources that operators may read, in addition to those of Kubernetes
	// itself.
	APIGroups []string
	// Overwritten says that these rules admit nobody because the stored ones differ from the owner's last word.
	Overwritten bool
}

// Lists are rules as they are typed and stored.
type Lists struct {
	// Operators are entries user:NAME or group:NAME, or Off alone.
	Operators []string
	// May, In and APIGroups are lists of permissions, namespaces and API groups.
	May, In, APIGroups []string
	// Identity is Prefixed or Same; empty is Prefixed.
	Identity string
}

// IsOff returns whether nobody is admitted.
func (r Rules) IsOff() bool { return len(r.Users)+len(r.Groups) == 0 }

// Confirmed returns the rules if the owner's last word confirms the data that they were read from. Otherwise the
// result admits nobody, since somebody else wrote the data.
func (r Rules) Confirmed(data map[string]string, word string) Rules {
	if r.IsOff() || contract.IsLastWord(word, data) {
		return r
	}
	return Rules{Overwritten: true}
}

// Of parses the data of the ConfigMap that stores the rules.
func Of(data map[string]string) (Rules, error) {
	return New(Lists{
		Operators: split(data[contract.ConnectOperatorsKey]),
		May:       split(data[contract.ConnectMayKey]),
		In:        split(data[contract.ConnectInKey]),
		APIGroups: split(data[contract.ConnectAPIGroupsKey]),
		Identity:  data[contract.ConnectIdentityKey],
	})
}

func split(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// New parses rules, or returns what is wrong with them.
func New(l Lists) (Rules, error) {
	r := Rules{Identity: Identity(l.Identity)}
	if r.Identity == "" {
		r.Identity = Prefixed
	}
	if r.Identity != Prefixed && r.Identity != Same {
		return Rules{}, fmt.Errorf("the identity of operators is %q; it is %s or %s", l.Identity, Prefixed, Same)
	}
	if err := r.admit(l.Operators); err != nil {
		return Rules{}, err
	}
	for _, word := range l.May {
		if !slices.Contains(permissions, Permission(word)) {
			return Rules{}, fmt.Errorf("operators cannot be allowed %q; what can be allowed beside reading is %s", word, words(permissions))
		}
	}
	for _, permission := range permissions {
		if slices.Contains(l.May, string(permission)) {
			r.May = append(r.May, permission)
		}
	}
	for _, namespace := range l.In {
		if wrong := validation.IsDNS1123Label(namespace); len(wrong) > 0 {
			return Rules{}, fmt.Errorf("operators are let into %q, which is not the name of a namespace: %s", namespace, strings.Join(wrong, "; "))
		}
	}
	r.Namespaces = sorted(l.In)
	for _, group := range l.APIGroups {
		if wrong := validation.IsDNS1123Subdomain(group); len(wrong) > 0 || !strings.Contains(group, ".") {
			return Rules{}, fmt.Errorf("%q is not an API group that can be named here, such as cert-manager.io; those of Kubernetes itself need not be named", group)
		}
	}
	r.APIGroups = sorted(l.APIGroups)
	switch {
	case r.IsOff() && (len(r.May) > 0 || len(r.Namespaces) > 0 || len(r.APIGroups) > 0):
		return Rules{}, errors.New("no operators are named who may do this: name some, such as group:ops or user:alice")
	case slices.Contains(r.May, NodesProxy) && len(r.Namespaces) > 0:
		return Rules{}, fmt.Errorf("%s reaches into all namespaces, but operators are let into %s only: remove one of the two", NodesProxy, strings.Join(r.Namespaces, ", "))
	}
	return r, nil
}

// admit sorts the operators into users and groups.
func (r *Rules) admit(operators []string) error {
	if len(operators) == 1 && operators[0] == Off {
		return nil
	}
	for _, operator := range operators {
		kind, name, _ := strings.Cut(operator, ":")
		if !isName(name) || strings.ContainsAny(name, "\"\\,") {
			return fmt.Errorf("operator %q is not of the form user:NAME or group:NAME; %s stands alone", operator, Off)
		}
		switch kind {
		case "user":
			if strings.HasPrefix(name, nodeUser) {
				return fmt.Errorf("operator %q is a node: nodes cannot be let in", operator)
			}
			r.Users = append(r.Users, name)
		case "group":
			if name == mastersGroup {
				return fmt.Errorf("operator %q may do anything in any cluster, whatever RBAC says: let in another group", operator)
			}
			r.Groups = append(r.Groups, name)
		default:
			return fmt.Errorf("operator %q is not of the form user:NAME or group:NAME; %s stands alone", operator, Off)
		}
	}
	r.Users, r.Groups = sorted(r.Users), sorted(r.Groups)
	return nil
}

// sorted returns a sorted copy without duplicates.
func sorted(list []string) []string {
	out := slices.Clone(list)
	slices.Sort(out)
	return slices.Compact(out)
}

// Lists returns the rules as they are typed.
func (r Rules) Lists() Lists {
	out := Lists{In: r.Namespaces, APIGroups: r.APIGroups, Identity: string(r.Identity)}
	for _, group := range r.Groups {
		out.Operators = append(out.Operators, "group:"+group)
	}
	for _, user := range r.Users {
		out.Operators = append(out.Operators, "user:"+user)
	}
	for _, permission := range r.May {
		out.May = append(out.May, string(permission))
	}
	return out
}

// Summary describes the rules in a few words, such as "off" or "read, exec in shop for group:ops".
func (r Rules) Summary() string {
	if r.IsOff() {
		return Off
	}
	may := strings.Join(append([]string{"read"}, r.Lists().May...), ", ")
	return may + r.where() + " for " + strings.Join(r.Lists().Operators, ", ")
}

// where returns " in shop, web"; empty if the rules hold everywhere.
func (r Rules) where() string {
	if len(r.Namespaces) == 0 {
		return ""
	}
	return " in " + strings.Join(r.Namespaces, ", ")
}

func words(list []Permission) string {
	out := make([]string, 0, len(list))
	for _, permission := range list {
		out = append(out, string(permission))
	}
	return strings.Join(out, ", ")
}
