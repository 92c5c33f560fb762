package apiserver

import (
	"slices"
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"fairlead.dev/common/contract"
	"fairlead.dev/test/cluster"
)

// admission is a hub's API as its users meet it.
type admission struct {
	client    client.Client
	namespace string
}

func startAdmission(t *testing.T) admission {
	t.Helper()
	g := NewWithT(t)
	hub := cluster.Shared(t, cluster.Options{})
	g.Expect(Install(t.Context(), hub.Config, Options{})).To(Succeed())
	a := admission{client: hub.Client(t), namespace: hub.Namespace(t)}
	// An API server takes a while until it goes by a policy that it has just got.
	for kind, spec := range map[string]string{
		"PropagationPolicy": selects + "preemption: Always\n",
		"OverridePolicy":    "overrideRules: [{overriders: {}}]\ntargetCluster: {}\n",
	} {
		g.Eventually(func() error { return a.create(t, kind, spec) }, "30s", "50ms").ShouldNot(Succeed())
	}
	g.Eventually(func() error {
		return a.try(t, "work.karmada.io/v1alpha2", "ResourceBinding", "resource: {apiVersion: v1, kind: ConfigMap, name: c}\ncomponents: [{name: a, replicas: 1}, {name: a, replicas: 2}]\n")
	}, "30s", "50ms").ShouldNot(Succeed())
	return a
}

// selects is the least that a policy must say.
const selects = "resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]\n"

func (a admission) create(t *testing.T, kind, spec string) error {
	t.Helper()
	return a.try(t, "policy.karmada.io/v1alpha1", kind, spec)
}

// try asks the API whether it would take an object.
func (a admission) try(t *testing.T, apiVersion, kind, spec string) error {
	t.Helper()
	return a.client.Create(t.Context(), a.object(t, apiVersion, kind, spec), client.DryRunAll)
}

func (a admission) object(t *testing.T, apiVersion, kind, spec string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{}}
	content := map[string]any{}
	NewWithT(t).Expect(yaml.UnmarshalStrict([]byte(spec), &content)).To(Succeed())
	u.Object["spec"] = content
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetGenerateName("p-")
	switch kind {
	case "PropagationPolicy", "OverridePolicy", "FederatedResourceQuota", "ResourceBinding":
		u.SetNamespace(a.namespace)
	}
	return u
}

func TestWhatAPropagationPolicyMaySay(t *testing.T) {
	t.Parallel()
	a := startAdmission(t)
	const divided = "  replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Aggregated}\n"
	tests := map[string]struct {
		spec string
		want string // part of the refusal; none if it is taken
	}{
		"the least": {spec: selects},
		"everything that goes together": {spec: selects + `
priority: -1
placement:
  clusterAffinities:
  - {affinityName: near, clusterNames: [a], overflowAffinities: [{affinityName: far, labelSelector: {matchLabels: {a: b}}}]}
  - {affinityName: last, fieldSelector: {matchExpressions: [{key: zone, operator: NotIn, values: [z]}]}}
  clusterTolerations: [{key: k, operator: Exists}, {key: l, value: v}]
  spreadConstraints: [{spreadByField: region, minGroups: 1, maxGroups: 2}, {minGroups: 2}, {spreadByLabel: example.com/rack}]
  replicaScheduling: {replicaSchedulingType: Divided, weightPreference: {dynamicWeight: AvailableReplicas}}
  workloadAffinity: {affinity: {groupByLabelKey: example.com/a}, antiAffinity: {groupByLabelKey: b}}
propagateDeps: true
failover: {application: {decisionConditions: {}, gracePeriodSeconds: 5, statePreservation: {rules: [{aliasLabelName: example.com/s, jsonPath: "{.a}"}]}}}
suspension: {dispatchingOnClusters: {clusterNames: [a]}}
`},
		"older spellings of the purge modes": {spec: selects + "propagateDeps: true\nfailover: {cluster: {purgeMode: Immediately}, application: {decisionConditions: {}, purgeMode: Graciously, gracePeriodSeconds: 1}}\n"},
		"no selector":                        {"resourceSelectors: []\n", "spec.resourceSelectors"},
		"an unknown preemption":              {selects + "preemption: Sometimes\n", "spec.preemption"},
		"preemption without a name":          {selects + "preemption: Always\n", "spec.resourceSelectors: with preemption Always every selector needs a name"},
		"another namespace":                  {"resourceSelectors: [{apiVersion: v1, kind: ConfigMap, namespace: elsewhere}]\n", "spec.resourceSelectors: a PropagationPolicy selects only objects of its own namespace"},
		"both kinds of affinity":             {selects + "placement: {clusterAffinity: {}, clusterAffinities: [{affinityName: a}]}\n", "spec.placement: clusterAffinity and clusterAffinities exclude each other"},
		"an affinity without a name":         {selects + "placement: {clusterAffinities: [{affinityName: \"\"}]}\n", "spec.placement.clusterAffinities[0].affinityName"},
		"an affinity with a bad name":        {selects + "placement: {clusterAffinities: [{affinityName: \"a b\"}]}\n", "spec.placement.clusterAffinities: an affinityName is made of letters"},
		"an affinity twice":                  {selects + "placement: {clusterAffinities: [{affinityName: a}, {affinityName: a}]}\n", "spec.placement.clusterAffinities: each affinityName may be there once"},
		"overflow without a capacity":        {selects + "placement: {clusterAffinities: [{affinityName: a, clusterNames: [x], overflowAffinities: [{affinityName: b}]}]}\n", "overflowAffinities: go with replicaSchedulingType Divided"},
		"overflow of the same name":          {selects + "placement:\n  clusterAffinities: [{affinityName: a, clusterNames: [x], overflowAffinities: [{affinityName: a}]}]\n" + divided, "overflowAffinities: an affinityName must be a valid label key, differ from that of its term"},
		"overflow twice":                     {selects + "placement:\n  clusterAffinities: [{affinityName: a, clusterNames: [x], overflowAffinities: [{affinityName: b}, {affinityName: b}]}]\n" + divided, "overflowAffinities: an affinityName must"},
		"overflow of everything":             {selects + "placement:\n  clusterAffinities: [{affinityName: a, overflowAffinities: [{affinityName: b}]}]\n" + divided, "must say which clusters come first"},
		"a field that clusters do not have":  {selects + "placement: {clusterAffinity: {fieldSelector: {matchExpressions: [{key: planet, operator: In, values: [mars]}]}}}\n", "the key of a fieldSelector is provider, region or zone"},
		"a field that must exist":            {selects + "placement: {clusterAffinities: [{affinityName: a, fieldSelector: {matchExpressions: [{key: zone, operator: Exists}]}}]}\n", "its operator In or NotIn"},
		"a field of an overflow":             {selects + "placement:\n  clusterAffinities: [{affinityName: a, clusterNames: [x], overflowAffinities: [{affinityName: b, fieldSelector: {matchExpressions: [{key: zone, operator: Gt, values: [a]}]}}]}]\n" + divided, "overflowAffinities: the key of a fieldSelector"},
		"a toleration that compares":         {selects + "placement: {clusterTolerations: [{key: k, operator: Gt, value: \"1\"}]}\n", "spec.placement.clusterTolerations: the operator is Equal or Exists"},
		"a field and a label":                {selects + "placement: {spreadConstraints: [{spreadByField: cluster, spreadByLabel: a}]}\n", "spreadByField and spreadByLabel exclude each other"},
		"a negative number of groups":        {selects + "placement: {spreadConstraints: [{spreadByField: cluster, minGroups: -1}]}\n", "minGroups and maxGroups cannot be negative"},
		"fewer at most than at least":        {selects + "placement: {spreadConstraints: [{spreadByField: cluster, minGroups: 3, maxGroups: 2}]}\n", "maxGroups must not be below minGroups"},
		"a field twice":                      {selects + "placement: {spreadConstraints: [{spreadByField: cluster, minGroups: 1}, {minGroups: 2}]}\n", "each spreadByField may be there once"},
		"regions without clusters":           {selects + "placement: {spreadConstraints: [{spreadByField: region, minGroups: 1}]}\n", "one constraint must have spreadByField cluster"},
		"a group that is no label":           {selects + "placement: {workloadAffinity: {affinity: {groupByLabelKey: \"a b\"}}}\n", "spec.placement.workloadAffinity: groupByLabelKey must be a valid label key"},
		"together and apart":                 {selects + "placement: {workloadAffinity: {affinity: {groupByLabelKey: a}, antiAffinity: {groupByLabelKey: a}}}\n", "cannot group by the same label"},
		"a weight of nothing":                {selects + "placement: {replicaScheduling: {weightPreference: {staticWeightList: [{targetCluster: {}, weight: 0}]}}}\n", "weight"},
		"failover that leaves things behind": {selects + "failover: {application: {decisionConditions: {}}}\n", "spec.propagateDeps: must be true with failover.application"},
		"a negative toleration":              {selects + "propagateDeps: true\nfailover: {application: {decisionConditions: {tolerationSeconds: -1}}}\n", "tolerationSeconds: cannot be negative"},
		"grace without gracefulness":         {selects + "propagateDeps: true\nfailover: {application: {decisionConditions: {}, purgeMode: Never, gracePeriodSeconds: 5}}\n", "gracePeriodSeconds: must be above 0, and goes with purgeMode Gracefully only"},
		"no grace at all":                    {selects + "propagateDeps: true\nfailover: {application: {decisionConditions: {}, gracePeriodSeconds: 0}}\n", "gracePeriodSeconds: must be above 0"},
		"state under no label":               {selects + "failover: {cluster: {statePreservation: {rules: [{aliasLabelName: \"a b\", jsonPath: x}]}}}\n", "aliasLabelName of a statePreservation rule must be a valid label key"},
		"an unknown purge mode":              {selects + "failover: {cluster: {purgeMode: Never}}\n", "spec.failover.cluster.purgeMode"},
		"suspended everywhere and somewhere": {selects + "suspension: {dispatching: true, dispatchingOnClusters: {clusterNames: [a]}}\n", "spec.suspension: dispatching true suspends every cluster"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, kind := range []string{"PropagationPolicy", "ClusterPropagationPolicy"} {
				if name == "another namespace" && kind == "ClusterPropagationPolicy" {
					continue
				}
				err := a.create(t, kind, tt.spec)
				if tt.want == "" {
					NewWithT(t).Expect(err).NotTo(HaveOccurred(), kind)
				} else {
					NewWithT(t).Expect(err).To(MatchError(ContainSubstring(tt.want)), kind)
				}
			}
		})
	}
}

func TestWhatOfAPolicyStaysAsItIs(t *testing.T) {
	t.Parallel()
	a := startAdmission(t)
	g := NewWithT(t)
	p := a.object(t, "policy.karmada.io/v1alpha1", "PropagationPolicy", selects)
	g.Expect(a.client.Create(t.Context(), p)).To(Succeed())
	p.SetLabels(map[string]string{contract.PropagationPolicyPermanentIDLabel: "one"})
	g.Expect(a.client.Update(t.Context(), p)).To(Succeed(), "it gets its id")

	for want, change := range map[string]func(*unstructured.Unstructured) error{
		"spec.schedulerName: cannot be changed from default-scheduler": func(p *unstructured.Unstructured) error {
			return unstructured.SetNestedField(p.Object, "other", "spec", "schedulerName")
		},
		"permanent-id]: is given once": func(p *unstructured.Unstructured) error {
			p.SetLabels(map[string]string{contract.PropagationPolicyPermanentIDLabel: "two"})
			return nil
		},
		"cannot be changed or removed": func(p *unstructured.Unstructured) error {
			p.SetLabels(nil)
			return nil
		},
	} {
		changed := p.DeepCopy()
		g.Expect(change(changed)).To(Succeed())
		g.Expect(a.client.Update(t.Context(), changed, client.DryRunAll)).To(MatchError(ContainSubstring(want)))
	}
}

func TestWhatAnOverridePolicyMaySay(t *testing.T) {
	t.Parallel()
	a := startAdmission(t)
	rule := func(overriders string) string { return "overrideRules:\n- overriders: {" + overriders + "}\n" }
	tests := map[string]struct{ spec, want string }{
		"one rule of everything": {spec: rule(`plaintext: [{path: /a, operator: remove}], ` +
			`imageOverrider: [{component: Tag, operator: replace, value: "2", predicate: {path: /spec/a~1b}}], ` +
			`commandOverrider: [{containerName: c, operator: add, value: [a]}], argsOverrider: [{containerName: c, operator: remove, value: [a]}], ` +
			`labelsOverrider: [{operator: add, value: {a: b}}], annotationsOverrider: [{operator: remove, value: {a/b: "any thing"}}], ` +
			`fieldOverrider: [{fieldPath: /data/x.yaml, yaml: [{subPath: /a, operator: add, value: 1}, {subPath: /b, operator: remove}]}]`)},
		"the older form":                       {spec: "targetCluster: {clusterNames: [a]}\noverriders: {plaintext: [{path: /a, operator: add, value: 1}]}\n"},
		"both forms":                           {rule("") + "targetCluster: {clusterNames: [a]}\n", "spec.overrideRules: excludes the older targetCluster and overriders"},
		"both forms, without a target":         {rule("") + "overriders: {plaintext: [{path: /a, operator: add}]}\n", "spec.overrideRules: excludes"},
		"another namespace":                    {"resourceSelectors: [{apiVersion: v1, kind: ConfigMap, namespace: elsewhere}]\n" + rule(""), "an OverridePolicy selects only objects of its own namespace"},
		"a field that clusters do not have":    {"overrideRules: [{targetCluster: {fieldSelector: {matchExpressions: [{key: planet, operator: In}]}}, overriders: {}}]\n", "targetCluster: the key of a fieldSelector"},
		"a predicate that is no path":          {rule("imageOverrider: [{component: Tag, operator: replace, value: x, predicate: {path: spec.image}}]"), "predicate.path: must be a JSON pointer"},
		"a patch that is no path":              {rule("plaintext: [{path: spec/replicas, operator: remove}]"), "plaintext.path: must be a JSON pointer"},
		"a path with a half escape":            {rule("plaintext: [{path: /a~2, operator: remove}]"), "plaintext.path: must be a JSON pointer"},
		"a patch that moves":                   {rule("plaintext: [{path: /a, operator: move}]"), "operator"},
		"a part that images do not have":       {rule("imageOverrider: [{component: Planet, operator: add}]"), "component"},
		"a command that is replaced":           {rule("commandOverrider: [{containerName: c, operator: replace}]"), "operator"},
		"a label that is none":                 {rule(`labelsOverrider: [{operator: add, value: {a: "any thing"}}]`), "labelsOverrider.value: has a key or a value"},
		"an annotation that is none":           {rule(`annotationsOverrider: [{operator: add, value: {"a b": c}}]`), "annotationsOverrider.value: has a key"},
		"a field that is no path":              {rule("fieldOverrider: [{fieldPath: data, json: [{subPath: /a, operator: remove}]}]"), "fieldOverrider.fieldPath: must be a JSON pointer"},
		"a field that is both":                 {rule("fieldOverrider: [{fieldPath: /a, json: [{subPath: /a, operator: remove}], yaml: [{subPath: /a, operator: remove}]}]"), "needs exactly one of json and yaml"},
		"a field that is neither":              {rule("fieldOverrider: [{fieldPath: /a}]"), "needs exactly one of json and yaml"},
		"a part of a field that is no path":    {rule("fieldOverrider: [{fieldPath: /a, json: [{subPath: a, operator: remove}]}]"), "fieldOverrider.subPath: must be a JSON pointer"},
		"a part of a field without a value":    {rule("fieldOverrider: [{fieldPath: /a, json: [{subPath: /a, operator: add}]}]"), "fieldOverrider.value: is needed"},
		"a part of a field removed by a value": {rule("fieldOverrider: [{fieldPath: /a, yaml: [{subPath: /a, operator: remove, value: 1}]}]"), "must be left out to remove"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, kind := range []string{"OverridePolicy", "ClusterOverridePolicy"} {
				if name == "another namespace" && kind == "ClusterOverridePolicy" {
					continue
				}
				err := a.create(t, kind, tt.spec)
				if tt.want == "" {
					NewWithT(t).Expect(err).NotTo(HaveOccurred(), kind)
				} else {
					NewWithT(t).Expect(err).To(MatchError(ContainSubstring(tt.want)), kind)
				}
			}
		})
	}
}

func TestWhatOtherKindsMaySay(t *testing.T) {
	t.Parallel()
	a := startAdmission(t)
	const (
		policy, apps, remedy = "policy.karmada.io/v1alpha1", "apps.karmada.io/v1alpha1", "remedy.karmada.io/v1alpha1"
		quota, taint         = "FederatedResourceQuota", "ClusterTaintPolicy"
		rebalancer, remedies = "WorkloadRebalancer", "Remedy"
	)
	// The policies may not be in force yet.
	for kind, spec := range map[string]string{
		quota: "overall: {cpu: 1}\nstaticAssignments: [{clusterName: a, hard: {cpu: 2}}]\n",
		taint: "taints: [{key: k, effect: NoExecute}]\n",
	} {
		NewWithT(t).Eventually(func() error { return a.try(t, policy, kind, spec) }, "30s", "50ms").ShouldNot(Succeed())
	}
	tests := map[string]struct{ apiVersion, kind, spec, want string }{
		"a quota":                            {policy, quota, "overall: {cpu: 300m, requests.memory: 2Gi}\nstaticAssignments: [{clusterName: a, hard: {cpu: 100m}}, {clusterName: b, hard: {cpu: 200m, requests.memory: 2Gi}}]\n", ""},
		"a quota of less than nothing":       {policy, quota, "overall: {cpu: -1}\n", "spec.overall: an amount must be a quantity that is not negative"},
		"a quota of no resource":             {policy, quota, "overall: {\"a b\": 1}\n", "spec.overall: the name of a resource"},
		"a part of less than nothing":        {policy, quota, "overall: {cpu: 1}\nstaticAssignments: [{clusterName: a, hard: {cpu: -1}}]\n", "spec.staticAssignments.hard: an amount must be"},
		"a part of something else":           {policy, quota, "overall: {cpu: 1}\nstaticAssignments: [{clusterName: a, hard: {memory: 1}}]\n", "a resource that is assigned must be in spec.overall too"},
		"parts that are more than the whole": {policy, quota, "overall: {cpu: 300m}\nstaticAssignments: [{clusterName: a, hard: {cpu: 200m}}, {clusterName: b, hard: {cpu: 101m}}]\n", "more of a resource than spec.overall"},
		"a part of no cluster":               {policy, quota, "overall: {cpu: 1}\nstaticAssignments: [{clusterName: a_b, hard: {cpu: 1}}]\n", "spec.staticAssignments.clusterName"},
		"a taint":                            {policy, taint, "taints: [{key: example.com/k, effect: NoSchedule, value: v}, {key: example.com/k, effect: PreferNoSchedule}]\naddOnConditions: [{conditionType: Ready, operator: NotIn, statusValues: [\"True\"]}]\n", ""},
		"a taint that is no label":           {policy, taint, "taints: [{key: a b, effect: NoSchedule}]\n", "spec.taints.key"},
		"a taint with a value that is none":  {policy, taint, "taints: [{key: a, effect: NoSchedule, value: b c}]\n", "spec.taints.value"},
		"a taint twice":                      {policy, taint, "taints: [{key: a, effect: NoSchedule}, {key: a, effect: NoSchedule, value: b}]\n", "spec.taints: each key may be there once"},
		"a taint that evicts":                {policy, taint, "taints: [{key: a, effect: NoExecute}]\n", "spec.taints.effect: NoExecute is not accepted here"},
		"no taint":                           {policy, taint, "taints: []\n", "spec.taints"},
		"a condition that is none":           {policy, taint, "taints: [{key: a, effect: NoSchedule}]\naddOnConditions: [{conditionType: Ready, operator: In, statusValues: [Perhaps]}]\n", "spec.addOnConditions[0].statusValues[0]"},
		"a taint by a field of no cluster":   {policy, taint, "targetClusters: {fieldSelector: {matchExpressions: [{key: planet, operator: In}]}}\ntaints: [{key: a, effect: NoSchedule}]\n", "spec.targetClusters: the key"},
		"a rebalancer":                       {apps, rebalancer, "workloads: [{apiVersion: apps/v1, kind: Deployment, namespace: shop, name: web}]\nttlSecondsAfterFinished: 5\n", ""},
		"a rebalancer of nothing":            {apps, rebalancer, "workloads: []\n", "spec.workloads"},
		"a rebalancer of no name":            {apps, rebalancer, "workloads: [{apiVersion: apps/v1, kind: Deployment}]\n", "spec.workloads[0].name"},
		"a remedy":                           {remedy, remedies, "decisionMatches: [{clusterConditionMatch: {conditionType: R, operator: NotEqual, conditionStatus: \"True\"}}]\nactions: [TrafficControl]\n", ""},
		"a remedy that cannot compare":       {remedy, remedies, "decisionMatches: [{clusterConditionMatch: {conditionType: R, operator: Like, conditionStatus: \"True\"}}]\n", "operator"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := a.try(t, tt.apiVersion, tt.kind, tt.spec)
			if tt.want == "" {
				NewWithT(t).Expect(err).NotTo(HaveOccurred())
			} else {
				NewWithT(t).Expect(err).To(MatchError(ContainSubstring(tt.want)))
			}
		})
	}
}

// warnings keeps what the API server warns of.
type warnings struct {
	mu  sync.Mutex
	all []string
}

// HandleWarningHeader keeps a warning.
func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, text)
}

func (w *warnings) list() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.all)
}

func TestWhatIsStoredOnlySaysSo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := cluster.Shared(t, cluster.Options{})
	g.Expect(Install(t.Context(), hub.Config, Options{})).To(Succeed())
	heard := &warnings{}
	cfg := rest.CopyConfig(hub.Config)
	cfg.WarningHandler = heard
	c, err := client.New(cfg, client.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	a := admission{client: c, namespace: hub.Namespace(t)}
	g.Eventually(func() []string {
		g.Expect(a.try(t, "remedy.karmada.io/v1alpha1", "Remedy", "actions: [TrafficControl]\n")).To(Succeed())
		return heard.list()
	}, "30s", "50ms").Should(ContainElement(ContainSubstring("Remedy is stored, but this version of the hub does not act on it yet")))
}

func TestWhatIsProtectedCannotBeDeleted(t *testing.T) {
	t.Parallel()
	a := startAdmission(t)
	g := NewWithT(t)
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion("v1")
	obj.SetKind("ConfigMap")
	obj.SetNamespace(a.namespace)
	obj.SetGenerateName("c-")
	obj.SetLabels(map[string]string{contract.DeletionProtectedLabel: "Always"})
	g.Expect(a.client.Create(t.Context(), obj)).To(Succeed())
	g.Eventually(func() error { return a.client.Delete(t.Context(), obj, client.DryRunAll) }, "30s", "50ms").
		Should(And(Satisfy(apierrors.IsForbidden), MatchError(ContainSubstring("ConfigMap "+obj.GetName()+" is protected from deletion; remove the label first"))))
	g.Expect(a.client.DeleteAllOf(t.Context(), obj, client.InNamespace(a.namespace), client.DryRunAll)).NotTo(Succeed())
	obj.SetLabels(map[string]string{contract.DeletionProtectedLabel: "never"})
	g.Expect(a.client.Update(t.Context(), obj)).To(Succeed())
	g.Expect(a.client.Delete(t.Context(), obj)).To(Succeed())
	g.Expect(a.client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)).To(Satisfy(apierrors.IsNotFound))
}

func TestWhatWebhookConfigurationsMaySay(t *testing.T) {
	t.Parallel()
	a := startAdmission(t)
	hook := func(name, clientConfig, rule, more string) string {
		return "webhooks:\n- name: " + name + "\n  clientConfig: " + clientConfig + "\n  rules: [" + rule + "]\n" + more
	}
	const (
		name     = "workloads.example.com"
		url      = "{url: \"https://hooks.example.com:8443/interpret\"}"
		service  = "{service: {name: hooks, namespace: default, path: /interpret}}"
		rule     = "{operations: [InterpretHealth], apiGroups: [\"*\"], apiVersions: [v1], kinds: [Widget]}"
		versions = "  interpreterContextVersions: [v1alpha1]\n"
	)
	tests := map[string]struct{ body, want string }{
		"by URL":                      {body: hook(name, url, rule, versions)},
		"by Service":                  {body: hook(name, service, rule, versions+"  timeoutSeconds: 30\n")},
		"every operation":             {body: hook(name, url, "{operations: [\"*\"], apiGroups: [\"\"], apiVersions: [v1], kinds: [Pod]}", versions)},
		"a short name":                {hook("workloads", url, rule, versions), "must be a fully qualified domain name"},
		"a name twice":                {hook(name, url, rule, versions) + "- name: " + name + "\n  clientConfig: " + url + "\n" + versions, "Duplicate value"},
		"every operation and another": {hook(name, url, "{operations: [\"*\", Retain], apiGroups: [a], apiVersions: [v1], kinds: [Pod]}", versions), "must be alone"},
		"an operation that is none":   {hook(name, url, "{operations: [Prune], apiGroups: [a], apiVersions: [v1], kinds: [Pod]}", versions), "Unsupported value"},
		"no time at all":              {hook(name, url, rule, versions+"  timeoutSeconds: 0\n"), "timeoutSeconds"},
		"too much time":               {hook(name, url, rule, versions+"  timeoutSeconds: 31\n"), "timeoutSeconds"},
		"no address":                  {hook(name, "{}", rule, versions), "exactly one of url and service is required"},
		"two addresses":               {hook(name, "{url: \"https://a.b\", service: {name: a, namespace: b}}", rule, versions), "exactly one of url and service is required"},
		"an address without TLS":      {hook(name, "{url: \"http://a.b\"}", rule, versions), "must be an https URL"},
		"an address with a query":     {hook(name, "{url: \"https://a.b/?c\"}", rule, versions), "must be an https URL"},
		"a port that is none":         {hook(name, "{service: {name: a, namespace: b, port: 70000}}", rule, versions), "port"},
		"no version that is known":    {hook(name, url, rule, "  interpreterContextVersions: [v2]\n"), "must include v1alpha1"},
		"a version twice":             {hook(name, url, rule, "  interpreterContextVersions: [v1alpha1, v1alpha1]\n"), "Duplicate value"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			u := &unstructured.Unstructured{Object: map[string]any{}}
			g.Expect(yaml.UnmarshalStrict([]byte(tt.body), &u.Object)).To(Succeed())
			u.SetAPIVersion("config.karmada.io/v1alpha1")
			u.SetKind("ResourceInterpreterWebhookConfiguration")
			u.SetGenerateName("hooks-")
			err := a.client.Create(t.Context(), u, client.DryRunAll)
			if tt.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(ContainSubstring(tt.want)))
			}
		})
	}
}
