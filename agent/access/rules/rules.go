package rules

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"fairlead.dev/common/contract"
)

// Off is the word for letting no operators in.
const Off = "off"

// Permission is something that operators may do beside reading, if the owner names it.
type Permission string

// Values of Permission.
const (
	// Exec is to run programs in containers, and to attach to them.
	Exec Permission = "exec"
	// PortForward is to connect to ports of pods.
	PortForward Permission = "port-forward"
	// Write is to create, change and delete objects.
	Write Permission = "write"
	// Secrets is to read Secrets and, with Write, to change them; and to ask for tokens of ServiceAccounts.
	Secrets Permission = "secrets"
	// PodsProxy is to send HTTP requests to pods through the API server.
	PodsProxy Permission = "pods/proxy"
	// ServicesProxy is the same to Services.
	ServicesProxy Permission = "services/proxy"
	// NodesProxy is the same to kubelets, which run programs in any container for whoever asks so.
	NodesProxy Permission = "nodes/proxy"
)

// permissions are all, in the order in which people read them.
var permissions = []Permission{Exec, PortForward, Write, Secrets, PodsProxy, ServicesProxy, NodesProxy} //nolint:gochecknoglobals // A constant list.

// Identity says who operators are in the member.
type Identity string

// Values of Identity.
const (
	// Prefixed has alice of the hub be fairlead:alice in the member: she need not be the alice there.
	Prefixed Identity = "prefixed"
	// Same has those whom the owner lists be the same in the member, for hubs and members that know people by the same provider: alice
	// if user:alice is listed, and ops if group:ops is. Who is let in by a group alone is fairlead:NAME, of that group.
	Same Identity = "same"
)

// Rules are the permissions that the owner of a member gives to operators of the hub. Without Users and Groups nobody is let in.
type Rules struct {
	// Users and Groups are names at the hub.
	Users, Groups []string
	// May lists the permissions beyond reading.
	May []Permission
	// Namespaces are where; none is everywhere, and what is in no namespace.
	Namespaces []string
	// Identity says as whom operators act in the member.
	Identity Identity
	// APIGroups are API groups of custom resources whose objects operators may see, beside the groups of Kubernetes itself.
	APIGroups []string
	// Overwritten says of rules that let nobody in that others are kept, which are not what the owner said last.
	Overwritten bool
}

// Lists are rules as they are typed and kept.
type Lists struct {
	// Operators are each user:NAME or group:NAME, or Off alone.
	Operators []string
	// May, In and APIGroups are lists of permissions, namespaces and API groups.
	May, In, APIGroups []string
	// Identity is one of its values; empty is Prefixed.
	Identity string
}

// IsOff says whether nobody is let in.
func (r Rules) IsOff() bool { return len(r.Users)+len(r.Groups) == 0 }

// Confirmed returns what holds of rules that are kept as data, by the owner's last word: nobody is let in by what something else wrote.
func (r Rules) Confirmed(data map[string]string, word string) Rules {
	if r.IsOff() || contract.IsLastWord(word, data) {
		return r
	}
	return Rules{Overwritten: true}
}

// Of understands data of the ConfigMap in which rules are kept.
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

// New understands rules, or says what is wrong with them.
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
			return Rules{}, fmt.Errorf("operators are let into %q, which is no name of a namespace: %s", namespace, strings.Join(wrong, "; "))
		}
	}
	r.Namespaces = sorted(l.In)
	for _, group := range l.APIGroups {
		if wrong := validation.IsDNS1123Subdomain(group); len(wrong) > 0 || !strings.Contains(group, ".") {
			return Rules{}, fmt.Errorf("%q is no API group that could be named here, such as cert-manager.io; those of Kubernetes itself need not be named", group)
		}
	}
	r.APIGroups = sorted(l.APIGroups)
	switch {
	case r.IsOff() && (len(r.May) > 0 || len(r.Namespaces) > 0 || len(r.APIGroups) > 0):
		return Rules{}, errors.New("it is said what operators may do, but not who: name some, such as group:ops or user:alice")
	case slices.Contains(r.May, NodesProxy) && len(r.Namespaces) > 0:
		return Rules{}, fmt.Errorf("%s reaches into all namespaces, and operators are let into %s only: take one of the two away", NodesProxy, strings.Join(r.Namespaces, ", "))
	}
	return r, nil
}

// admit takes the operators apart.
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

// sorted returns a list in order, each element once.
func sorted(list []string) []string {
	out := slices.Clone(list)
	slices.Sort(out)
	return slices.Compact(out)
}

// Lists returns rules as they are typed.
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

// where is " in shop, web"; empty if everywhere.
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
