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

// Settings are the settings of an installed agent, read from its objects, so that they are correct even if it was
// changed since or was installed with Helm.
type Settings struct {
	// Image, Namespaces, Kinds, SafeKinds, Account, Proxy, PriorityClass and Pod are as in Options.
	Image                        string
	Namespaces, Kinds, SafeKinds []string
	Account                      string
	Proxy                        map[string]string
	PriorityClass                string
	Pod                          Pod
	// UpgradeImages are as in Options: none if the hub may not upgrade the agent.
	UpgradeImages []string
	// Other are arguments that Options do not produce.
	Other []string
}

// IsConfined returns whether the agent is confined to a part of what the hub may ask of it.
func (s *Settings) IsConfined() bool {
	return len(s.Namespaces) > 0 || len(s.Kinds) > 0 || s.Account != "" || len(s.UpgradeImages) == 0
}

// SettingsOf reads the settings of an agent. guard is nil if there is none. rules returns the agent's RBAC rules for
// each of its namespaces, or the cluster-wide ones. It is an error if they do not determine the kinds to which the
// agent is confined, unless needKinds is false.
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
	var err error
	if out.Pod, err = podOf(agent); err != nil {
		return Settings{}, err
	}
	may, err := rules(out.Namespaces)
	if err == nil {
		out.Kinds, err = kindsOf(may, len(out.Namespaces) > 0 && out.Account != "")
	}
	if err != nil && needKinds {
		return Settings{}, err
	}
	if len(out.Namespaces) == 0 && (len(out.Kinds) > 0 || err != nil) {
		// The chart sets this flag for an agent that is confined in this way.
		out.Other = slices.DeleteFunc(out.Other, func(arg string) bool { return arg == noWebhooks })
	}
	return out, nil
}

// noWebhooks stops an agent from calling addresses that the hub names.
const noWebhooks = "--interpreter-webhooks=false"

// ProxyVariables are the environment variables that configure a proxy.
func ProxyVariables() []string { return []string{"HTTPS_PROXY", "NO_PROXY"} }

// readArguments reads the arguments of `agent run`. Those of the join are not kept in Other, since the agent has
// joined.
func (s *Settings) readArguments(args []string) {
	for i := 1; i < len(args); i++ { // the first argument is run
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

// errByHand says that no list of kinds produces the agent's rules.
var errByHand = errors.New("its rights were changed by hand")

// kindsOf returns the kinds to which the rules of all places confine an agent; empty means all. Rules that the chart
// produces for no list of kinds are an error: recreated from a list, they would allow what somebody removed by hand.
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

// kindsIn returns the kinds to which rules confine an agent. With watchesOnly the agent writes as an account of each
// namespace, so that its own rules only watch.
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

// allows returns whether a rule has all of these verbs.
func allows(rule rbacv1.PolicyRule, verbs ...string) bool {
	return slices.Contains(rule.Verbs, rbacv1.VerbAll) || !slices.ContainsFunc(verbs, func(verb string) bool { return !slices.Contains(rule.Verbs, verb) })
}

// containerOf returns the container of the agent or its guard; nil if there is none.
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
