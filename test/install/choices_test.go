package install

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"

	"fairlead.dev/agent/cli"
	"fairlead.dev/agent/install/chart"
	"fairlead.dev/agent/install/manifest"
)

// choice is one that an owner of a member has, as an argument of `agent join` and as values of the chart.
type choice struct {
	flags  []string
	values values
}

// choices are all that both ways have.
func choices() []choice {
	return []choice{
		{
			[]string{"--token", join.Token, "--cluster-name", "edge-1", "--discovery-token-ca-cert-hash", hash, "--on-retire", "keep"},
			values{
				"hub": values{"addresses": []any{"hub.example.com:6443"}, "caCertHashes": []any{hash}}, "clusterName": "edge-1",
				"join": values{"token": join.Token}, "onRetire": "keep", "createNamespace": true,
			},
		},
		{
			[]string{"--image", "registry.example.com:5000/x/agent:v1.2.3@" + hash, "--image-pull-policy", "Always", "--image-pull-secrets", "pull,another"},
			values{
				"image":            values{"registry": "registry.example.com:5000", "repository": "x/agent", "tag": "v1.2.3", "digest": hash, "pullPolicy": "Always"},
				"imagePullSecrets": []any{values{"name": "pull"}, values{"name": "another"}},
			},
		},
		{[]string{"--upgrade-images", "registry.example.com:5000/x/"}, values{"upgrades": values{"enabled": true, "repositories": []any{"registry.example.com:5000/x/"}}}},
		{
			[]string{"--namespaces", "a," + agentNamespace, "--kinds", "configmaps,widgets.example.com", "--safe-kinds", "widgets.example.com", "--as-service-account", "tenant"},
			values{
				"namespaces": []any{"a", agentNamespace}, "kinds": []any{"configmaps", "widgets.example.com"}, "safeKinds": []any{"widgets.example.com"},
				"asServiceAccount": "tenant",
			},
		},
		{
			[]string{"--operators", "group:ops", "--operators-may", "exec", "--operators-in", "a", "--operators-identity", "same", "--operators-api-groups", "cert-manager.io"},
			values{"operators": values{"who": []any{"group:ops"}, "may": []any{"exec"}, "in": []any{"a"}, "identity": "same", "apiGroups": []any{"cert-manager.io"}}},
		},
		{[]string{"--state-volume", "/srv/agent"}, values{"state": values{"volume": "hostPath", "hostPath": "/srv/agent"}}},
		{[]string{"--priority-class", "high"}, values{"priorityClassName": "high"}},
		{
			[]string{"--requests", "cpu=20m", "--limits", "memory=0,cpu=1"},
			values{"resources": values{"requests": values{"cpu": "20m"}, "limits": values{"memory": nil, "cpu": "1"}}},
		},
		{
			[]string{"--node-selector", "kubernetes.io/arch=arm64,pool=edge", "--tolerations", "edge,till=yes:NoSchedule,*", "--run-as", "assigned"},
			values{
				"nodeSelector": values{"kubernetes.io/arch": "arm64", "pool": "edge"}, "runAs": "assigned",
				"tolerations": []any{
					values{"key": "edge", "operator": "Exists"}, values{"key": "till", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}, values{"operator": "Exists"},
				},
			},
		},
	}
}

// chartOnly are values that `agent join` has no flag for: it finds out whether operators need the old sort of impersonation and that it has
// joined, reads the proxy from its environment, and has the token in the command. The others are for who looks after the agent with Helm, but for
// unsafeSkipCAVerification, which contradicts the hashes above.
func chartOnly() []string {
	return []string{
		"affinity", "env", "extraArgs", "hub.unsafeSkipCAVerification", "join.existingSecret", "join.joined", "metrics", "networkPolicy",
		"operators.legacyImpersonation", "podAnnotations", "state.keySecret", "state.size", "state.storageClass",
	}
}

// TestTheSameChoicesMakeTheSameAgent has `agent join` and Helm make an agent each, of every choice that both have.
func TestTheSameChoicesMakeTheSameAgent(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "")
	t.Setenv("NO_PROXY", "")
	g := NewWithT(t)
	args, v := []string{"join", "hub.example.com:6443", "--print", "manifests"}, values{}
	for _, c := range choices() {
		args, v = append(args, c.flags...), merged(v, c.values)
	}
	var out, problems bytes.Buffer
	status := cli.Run(t.Context(), cli.Environment{Out: &out, Err: &problems, SetLogger: func(logr.Logger) {}}, args)
	g.Expect(status).To(BeZero(), problems.String())
	want, diagnosis, err := helm(t, "agent", agentNamespace, v)
	g.Expect(err).NotTo(HaveOccurred(), diagnosis)
	g.Expect(byName(t, out.String())).To(BeComparableTo(byName(t, want)))
}

// TestWhatTheChartOffersAgentJoinOffers holds that a value of the chart is a choice of `agent join` as well, or is among those that are not.
func TestWhatTheChartOffersAgentJoinOffers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	defaults, err := chart.Values(agentChart(t))
	g.Expect(err).NotTo(HaveOccurred())
	v := values{}
	for _, c := range choices() {
		v = merged(v, c.values)
	}
	said := slices.Concat(leaves(v, defaults, ""), chartOnly())
	g.Expect(said).To(ConsistOf(leaves(defaults, defaults, "")))
}

// leaves are the names of values, as far down as the chart names them.
func leaves(v, defaults values, before string) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(v)) {
		below, isMap := v[key].(values)
		known, _ := defaults[key].(values)
		if !isMap || len(known) == 0 || key == "resources" {
			out = append(out, before+key)
			continue
		}
		out = append(out, leaves(below, known, before+key+".")...)
	}
	return out
}

// TestThePlatformAssignsTheUserOnOpenShift has Helm see a cluster that is OpenShift, and `agent join` find that it is.
func TestThePlatformAssignsTheUserOnOpenShift(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		value, runAs string
		versions     []string
	}{
		"OpenShift":            {value: "auto", runAs: manifest.RunAsAssigned, versions: []string{"--api-versions", "security.openshift.io/v1"}},
		"another":              {value: "auto", runAs: manifest.RunAsFixed},
		"a fixed on OpenShift": {value: "fixed", runAs: manifest.RunAsFixed, versions: []string{"--api-versions", "security.openshift.io/v1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			o := manifest.Options{Image: "agent:v1", UpgradeImages: []string{"agent"}, Pod: manifest.Pod{RunAs: tc.runAs}}
			want, diagnosis, err := helm(t, "agent", agentNamespace, merged(manifest.Values(o), values{"runAs": tc.value}), tc.versions...)
			g.Expect(err).NotTo(HaveOccurred(), diagnosis)
			objects, err := manifest.Objects(o)
			g.Expect(err).NotTo(HaveOccurred())
			text, err := manifest.YAML(objects)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(byName(t, string(text))).To(BeComparableTo(byName(t, want)))
		})
	}
}
