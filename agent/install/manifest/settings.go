package manifest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"fairlead.dev/common/contract"
)

// Settings are what an installed agent was told to run with and to do, read from what it consists of: so they are also true of one that
// was changed since, or made by Helm.
type Settings struct {
	// Image, Namespaces, Kinds, SafeKinds, Account, Proxy and PriorityClass are as in Options.
	Image                        string
	Namespaces, Kinds, SafeKinds []string
	Account                      string
	Proxy                        map[string]string
	PriorityClass                string
	// UpgradeImages are as in Options: none if the hub may not upgrade the agent.
	UpgradeImages []string
	// Other are arguments that Options do not make.
	Other []string
}

// IsConfined says whether the agent does less than all that the hub has it do.
func (s *Settings) IsConfined() bool {
	return len(s.Namespaces) > 0 || len(s.Kinds) > 0 || s.Account != "" || len(s.UpgradeImages) == 0
}

// SettingsOf reads what an agent was told. The guard is nil if there is none. Rules are what it may do where it applies: of each of its
// namespaces, or of everywhere if it is not confined to some. That they do not say to which kinds it is confined is an error, unless it
// need not be known.
func SettingsOf(agent, guard *appsv1.Deployment, rules func(namespaces []string) ([][]rbacv1.PolicyRule, error), needKinds bool) (Settings, error) {
	out := Settings{
		Proxy: map[string]string{}, PriorityClass: agent.Spec.Template.Spec.PriorityClassName, SafeKinds: split(agent.Annotations[contract.SafeKindsAnnotation]),
	}
	if c := containerOf(agent); c != nil {
		out.Image = c.Image
		out.readArguments(c.Args)
		for _, env := range c.Env {
			if slices.Contains(ProxyVariables(), env.Name) && env.Value != "" {
				out.Proxy[env.Name] = env.Value
			}
		}
	}
	if guard != nil {
		if c := containerOf(guard); c != nil {
			if i := slices.Index(c.Args, "--images"); i >= 0 && i+1 < len(c.Args) {
				out.UpgradeImages = split(c.Args[i+1])
			}
		}
	}
	may, err := rules(out.Namespaces)
	if err == nil {
		out.Kinds, err = kindsOf(may, len(out.Namespaces) > 0 && out.Account != "")
	}
	if err != nil && needKinds {
		return Settings{}, err
	}
	if len(out.Namespaces) == 0 && (len(out.Kinds) > 0 || err != nil) {
		// The chart says so of an agent that is confined like that.
		out.Other = slices.DeleteFunc(out.Other, func(arg string) bool { return arg == noWebhooks })
	}
	return out, nil
}

// noWebhooks has an agent call no address that the hub names.
const noWebhooks = "--interpreter-webhooks=false"

// ProxyVariables are the environment variables that say which proxy to use.
func ProxyVariables() []string { return []string{"HTTPS_PROXY", "NO_PROXY"} }

// readArguments reads the arguments of `agent run`. Those by which it joined are not among Other: it has joined.
func (s *Settings) readArguments(args []string) {
	for i := 1; i < len(args); i++ { // the first is run
		name, value, hasValue := strings.Cut(args[i], "=")
		takes := func() string {
			if !hasValue && i+1 < len(args) {
				i++
				value = args[i]
			}
			return value
		}
		switch name {
		case "--namespaces":
			s.Namespaces = split(takes())
		case "--as-service-account":
			s.Account = takes()
		case "--state-dir", "--state-secret", "--cluster-name", "--discovery-token-ca-cert-hash", "--on-retire", "--token-file",
			"--health-probe-bind-address", "--upgrade-deployment":
			takes()
		case "--discovery-token-unsafe-skip-ca-verification":
		default:
			if strings.HasPrefix(name, "-") {
				s.Other = append(s.Other, args[i])
			}
		}
	}
}

// errByHand is of rights that no list of kinds is.
var errByHand = errors.New("its rights were changed by hand")

// kindsOf are the kinds to which the rules of each place confine an agent; none is all. Rules that the chart makes of no list of kinds are an
// error: made anew from a list, they would allow what somebody took away by hand.
func kindsOf(places [][]rbacv1.PolicyRule, watchesOnly bool) ([]string, error) {
	var out []string
	for i, rules := range places {
		kinds, err := kindsIn(rules, watchesOnly)
		if err != nil {
			return nil, err
		}
		if i > 0 && !slices.Equal(slices.Sorted(slices.Values(kinds)), slices.Sorted(slices.Values(out))) {
			return nil, fmt.Errorf("%w: they are not the same in all of its namespaces", errByHand)
		}
		if i == 0 {
			out = kinds
		}
	}
	return out, nil
}

// kindsIn are the kinds to which rules confine an agent, which only watches by itself if it acts as an account of each namespace.
func kindsIn(rules []rbacv1.PolicyRule, watchesOnly bool) ([]string, error) {
	var out []string
	isAll := false
	for _, rule := range rules {
		if len(rule.ResourceNames) > 0 || !allows(rule, "get", "watch") || !watchesOnly && !allows(rule, "create") {
			continue
		}
		if !allows(rule, "list") || !watchesOnly && !allows(rule, "patch", "delete") {
			return nil, fmt.Errorf("%w: of %s it may %s", errByHand, strings.Join(rule.Resources, ", "), strings.Join(rule.Verbs, ", "))
		}
		if slices.Contains(rule.APIGroups, rbacv1.APIGroupAll) && slices.Contains(rule.Resources, rbacv1.ResourceAll) {
			isAll = true
			continue
		}
		for _, word := range slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs) {
			if strings.ContainsAny(word, "*/") {
				return nil, fmt.Errorf("%w: %q is no kind that could be listed", errByHand, word)
			}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				out = append(out, strings.TrimSuffix(resource+"."+group, "."))
			}
		}
	}
	switch {
	case isAll:
		return nil, nil
	case len(out) == 0:
		return nil, fmt.Errorf("%w: there is nothing that it may apply", errByHand)
	}
	return out, nil
}

// allows says whether a rule has all of these verbs.
func allows(rule rbacv1.PolicyRule, verbs ...string) bool {
	return slices.Contains(rule.Verbs, rbacv1.VerbAll) || !slices.ContainsFunc(verbs, func(verb string) bool { return !slices.Contains(rule.Verbs, verb) })
}

// containerOf returns the container of an agent or its guard; nil if it has none.
func containerOf(d *appsv1.Deployment) *corev1.Container {
	containers := d.Spec.Template.Spec.Containers
	i := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == "agent" })
	if i < 0 {
		return nil
	}
	return &containers[i]
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}
