package apiserver

import (
	"context"
	"maps"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"fairlead.dev/common/contract"
)

// admission is a hub's API as its users see it.
type admission struct {
	client    client.Client
	namespace string
}

func startAdmission(t *testing.T) admission {
	t.Helper()
	hub := installedHub(t)
	return admission{client: hub.Client(t), namespace: hub.Namespace(t)}
}

// selects is the minimal spec of a policy.
const selects = "resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]\n"

func (a admission) create(t *testing.T, kind, spec string) error {
	t.Helper()
	return a.try(t, "policy.karmada.io/v1alpha1", kind, spec)
}

// try returns whether the API would accept an object.
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
	case "PropagationPolicy", "OverridePolicy", "FederatedResourceQuota", "ResourceBinding", "CronFederatedHPA", "StagedRollout":
		u.SetNamespace(a.namespace)
	}
	return u
}

func TestPropagationPoliciesAreValidated(t *testing.T) {
	t.Parallel()
	a := startAdmission(t)
	const divided = "  replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Aggregated}\n"
	tests := map[string]struct {
		spec string
		want string // part of the error; empty if the object is accepted
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
		"an affinity with a bad name":        {selects + "placement: {clusterAffinities: [{affinityName: \"a b\"}]}\n", "begin and end with a letter or digit; \"a b\" is not"},
		"an affinity twice":                  {selects + "placement: {clusterAffinities: [{affinityName: a}, {affinityName: a}]}\n", "spec.placement.clusterAffinities: each affinityName may appear only once, and \"a\" is repeated"},
		"a selector of no kind":              {"resourceSelectors: [{apiVersion: apps/v1, kind: \"\"}]\n", "spec.resourceSelectors: apiVersion and kind must be set"},
		"labels that are compared wrongly":   {"resourceSelectors: [{apiVersion: v1, kind: Secret, labelSelector: {matchExpressions: [{key: a, operator: in, values: [b]}]}}]\n", "spec.resourceSelectors.labelSelector.matchExpressions: an expression must have"},
		"labels of clusters that are not":    {selects + "placement: {clusterAffinity: {labelSelector: {matchExpressions: [{key: a, operator: In}]}}}\n", "spec.placement: in matchExpressions of a labelSelector"},
		"labels of weights that are not":     {selects + "placement: {replicaScheduling: {weightPreference: {staticWeightList: [{targetCluster: {labelSelector: {matchExpressions: [{key: \"a b\", operator: Exists}]}}, weight: 1}]}}}\n", "spec.placement: in matchExpressions of a labelSelector"},
		"labels of an overflow that are not": {selects + "placement:\n  clusterAffinities: [{affinityName: a, clusterNames: [x], overflowAffinities: [{affinityName: b, labelSelector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}}]}]\n" + divided, "overflowAffinities: in matchExpressions of a labelSelector"},
		"a toleration of no effect":          {selects + "placement: {clusterTolerations: [{key: k, effect: noexecute}]}\n", "spec.placement.clusterTolerations: the effect is NoSchedule or NoExecute, and cannot be noexecute"},
		"overflow without a capacity":        {selects + "placement: {clusterAffinities: [{affinityName: a, clusterNames: [x], overflowAffinities: [{affinityName: b}]}]}\n", "overflowAffinities: need replicaSchedulingType Divided"},
		"overflow of the same name":          {selects + "placement:\n  clusterAffinities: [{affinityName: a, clusterNames: [x], overflowAffinities: [{affinityName: a}]}]\n" + divided, "overflowAffinities: an affinityName must be a valid label key, differ from that of its term"},
		"overflow twice":                     {selects + "placement:\n  clusterAffinities: [{affinityName: a, clusterNames: [x], overflowAffinities: [{affinityName: b}, {affinityName: b}]}]\n" + divided, "overflowAffinities: an affinityName must"},
		"overflow of everything":             {selects + "placement:\n  clusterAffinities: [{affinityName: a, overflowAffinities: [{affinityName: b}]}]\n" + divided, "must select the clusters that come first"},
		"a field that clusters do not have":  {selects + "placement: {clusterAffinity: {fieldSelector: {matchExpressions: [{key: planet, operator: In, values: [mars]}]}}}\n", "spec.placement: the key of a fieldSelector must be provider, region or zone"},
		"a field that must exist":            {selects + "placement: {clusterAffinities: [{affinityName: a, fieldSelector: {matchExpressions: [{key: zone, operator: Exists}]}}]}\n", "and its operator In or NotIn"},
		"a field of an overflow":             {selects + "placement:\n  clusterAffinities: [{affinityName: a, clusterNames: [x], overflowAffinities: [{affinityName: b, fieldSelector: {matchExpressions: [{key: zone, operator: Gt, values: [a]}]}}]}]\n" + divided, "overflowAffinities: the key of a fieldSelector"},
		"a toleration that compares":         {selects + "placement: {clusterTolerations: [{key: k, operator: Gt, value: \"1\"}]}\n", "spec.placement.clusterTolerations: the operator is Equal or Exists, and cannot be Gt"},
		"a field and a label":                {selects + "placement: {spreadConstraints: [{spreadByField: cluster, spreadByLabel: a}]}\n", "spreadByField and spreadByLabel exclude each other"},
		"a negative number of groups":        {selects + "placement: {spreadConstraints: [{spreadByField: cluster, minGroups: -1}]}\n", "minGroups and maxGroups cannot be negative"},
		"bounds of replicas without weights": {selects + "placement: {replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Aggregated, replicaBounds: [{targetCluster: {}, maxReplicas: 2}]}}\n", "need replicaSchedulingType Divided and static weights"},
		"bounds of replicas crossed":         {selects + "placement: {replicaScheduling: {replicaSchedulingType: Divided, replicaBounds: [{targetCluster: {}, minReplicas: 3, maxReplicas: 2}]}}\n", "maxReplicas must not be less than minReplicas"},
		"more constraints than are weighed":  {selects + "placement: {spreadConstraints: [" + strings.Repeat("{spreadByLabel: tier}, ", 17) + "]}\n", "at most 16 constraints"},
		"fewer at most than at least":        {selects + "placement: {spreadConstraints: [{spreadByField: cluster, minGroups: 3, maxGroups: 2}]}\n", "maxGroups must not be less than minGroups"},
		"a field twice":                      {selects + "placement: {spreadConstraints: [{spreadByField: cluster, minGroups: 1}, {minGroups: 2}]}\n", "each spreadByField may appear only once, and cluster is repeated"},
		"regions without clusters":           {selects + "placement: {spreadConstraints: [{spreadByField: region, minGroups: 1}]}\n", "needs another one with spreadByField cluster"},
		"a group that is no label":           {selects + "placement: {workloadAffinity: {affinity: {groupByLabelKey: \"a b\"}}}\n", "spec.placement.workloadAffinity: groupByLabelKey must be a valid label key"},
		"together and apart":                 {selects + "placement: {workloadAffinity: {affinity: {groupByLabelKey: a}, antiAffinity: {groupByLabelKey: a}}}\n", "cannot group by the same label"},
		"a weight of nothing":                {selects + "placement: {replicaScheduling: {weightPreference: {staticWeightList: [{targetCluster: {}, weight: 0}]}}}\n", "weight"},
		"failover that leaves things behind": {selects + "failover: {application: {decisionConditions: {}}}\n", "spec.propagateDeps: must be true with failover.application"},
		"a negative toleration":              {selects + "propagateDeps: true\nfailover: {application: {decisionConditions: {tolerationSeconds: -1}}}\n", "tolerationSeconds: cannot be negative"},
		"grace without gracefulness":         {selects + "propagateDeps: true\nfailover: {application: {decisionConditions: {}, purgeMode: Never, gracePeriodSeconds: 5}}\n", "gracePeriodSeconds: must be greater than 0, and is only for purgeMode Gracefully"},
		"no grace at all":                    {selects + "propagateDeps: true\nfailover: {application: {decisionConditions: {}, gracePeriodSeconds: 0}}\n", "gracePeriodSeconds: must be greater than 0"},
		"state under no label":               {selects + "failover: {cluster: {statePreservation: {rules: [{aliasLabelName: \"a b\", jsonPath: x}]}}}\n", "aliasLabelName of a statePreservation rule must be a valid label key"},
		"state by every path that there is": {selects + "failover: {cluster: {statePreservation: {rules: [" +
			`{aliasLabelName: a, jsonPath: "{ .jobStatus.jobID }"}, {aliasLabelName: b, jsonPath: "{$.a[0]['b'].c\\.d[-1]}"}, {aliasLabelName: c, jsonPath: "{.conditions[?(@.type=='Ready')].status}"}` + "]}}}\n", ""},
		"state by a path that doubles":       {selects + "failover: {cluster: {statePreservation: {rules: [{aliasLabelName: a, jsonPath: \"{" + strings.Repeat("['.','.']", 28) + "}\"}]}}}\n", "spec.failover: the jsonPath of a statePreservation rule must lead to one value by fields and indexes"},
		"state by a path that is long":       {selects + "failover: {cluster: {statePreservation: {rules: [{aliasLabelName: a, jsonPath: \"{" + strings.Repeat(".a", 128) + "}\"}]}}}\n", "spec.failover.cluster.statePreservation.rules[0].jsonPath: Too long"},
		"an unknown purge mode":              {selects + "failover: {cluster: {purgeMode: Never}}\n", "spec.failover.cluster.purgeMode"},
		"suspended everywhere and somewhere": {selects + "suspension: {dispatching: true, dispatchingOnClusters: {clusterNames: [a]}}\n", "spec.suspension: dispatching true suspends every cluster"},
	}
	a.answers(t, tests, "PropagationPolicy", "ClusterPropagationPolicy")
}

// answers checks how the API answers each spec, for the namespaced and the cluster-scoped kind. A cluster-scoped object
// may refer to any namespace.
func (a admission) answers(t *testing.T, tests map[string]struct{ spec, want string }, namespaced, clusterScoped string) {
	t.Helper()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, kind := range []string{namespaced, clusterScoped} {
				if name == "another namespace" && kind == clusterScoped {
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

func TestTheIDOfAPolicyIsImmutable(t *testing.T) {
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
		"permanent-id]: is set once": func(p *unstructured.Unstructured) error {
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

func TestOverridePoliciesAreValidated(t *testing.T) {
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
		"both forms":                           {rule("") + "targetCluster: {clusterNames: [a]}\n", "spec.overrideRules: cannot be used with the older targetCluster and overriders"},
		"both forms, without a target":         {rule("") + "overriders: {plaintext: [{path: /a, operator: add, value: 1}]}\n", "spec.overrideRules: cannot be used with"},
		"another namespace":                    {"resourceSelectors: [{apiVersion: v1, kind: ConfigMap, namespace: elsewhere}]\n" + rule(""), "an OverridePolicy selects only objects of its own namespace"},
		"a field that clusters do not have":    {"overrideRules: [{targetCluster: {fieldSelector: {matchExpressions: [{key: planet, operator: In}]}}, overriders: {}}]\n", "targetCluster: the key of a fieldSelector"},
		"a predicate that is no path":          {rule("imageOverrider: [{component: Tag, operator: replace, value: x, predicate: {path: spec.image}}]"), "predicate.path: must be a JSON pointer"},
		"a patch that is no path":              {rule("plaintext: [{path: spec/replicas, operator: remove}]"), "plaintext.path: must be a JSON pointer, such as /spec/replicas; \"spec/replicas\" is not"},
		"a patch without a value":              {rule("plaintext: [{path: /a, operator: remove}, {path: /b, operator: replace}]"), "plaintext.value: is required for add and replace, and missing for path /b; to remove a field use remove"},
		"a patch with null":                    {rule("plaintext: [{path: /a, operator: add, value: null}]"), "plaintext.value: is required for add and replace, and missing for path /a"},
		"a patch that removes with a value":    {spec: rule("plaintext: [{path: /a, operator: remove, value: 1}]")},
		"a path with a half escape":            {rule("plaintext: [{path: /a~2, operator: remove}]"), "plaintext.path: must be a JSON pointer"},
		"a patch that moves":                   {rule("plaintext: [{path: /a, operator: move}]"), "operator"},
		"a part that images do not have":       {rule("imageOverrider: [{component: Planet, operator: add}]"), "component"},
		"a command that is replaced":           {rule("commandOverrider: [{containerName: c, operator: replace}]"), "operator"},
		"a label that is none":                 {rule(`labelsOverrider: [{operator: add, value: {a: "any thing"}}]`), "labelsOverrider.value: has an invalid label key or value"},
		"an annotation that is none":           {rule(`annotationsOverrider: [{operator: add, value: {"a b": c}}]`), "annotationsOverrider.value: has an invalid annotation key"},
		"a field that is no path":              {rule("fieldOverrider: [{fieldPath: data, json: [{subPath: /a, operator: remove}]}]"), "fieldOverrider.fieldPath: must be a JSON pointer"},
		"a field that is both":                 {rule("fieldOverrider: [{fieldPath: /a, json: [{subPath: /a, operator: remove}], yaml: [{subPath: /a, operator: remove}]}]"), "must have exactly one of json and yaml"},
		"a field that is neither":              {rule("fieldOverrider: [{fieldPath: /a}]"), "must have exactly one of json and yaml"},
		"a part of a field that is no path":    {rule("fieldOverrider: [{fieldPath: /a, json: [{subPath: a, operator: remove}]}]"), "fieldOverrider.subPath: must be a JSON pointer"},
		"a part of a field without a value":    {rule("fieldOverrider: [{fieldPath: /a, json: [{subPath: /a, operator: add}]}]"), "fieldOverrider.value: is required"},
		"a part of a field removed by a value": {rule("fieldOverrider: [{fieldPath: /a, yaml: [{subPath: /a, operator: remove, value: 1}]}]"), "must be left out for remove"},
	}
	more := map[string]struct{ spec, want string }{
		"a tag or a digest":                {spec: rule("imageOverrider: [{component: Tag, operator: replace, value: v1.2-rc_3}, {component: Tag, operator: replace, value: \"sha256:" + strings.Repeat("ab", 32) + "\"}, {component: Tag, operator: remove}]")},
		"an image for a tag":               {rule("imageOverrider: [{component: Tag, operator: replace, value: \"nginx:1.2\"}]"), "imageOverrider.value: a Tag is replaced by a tag"},
		"a selector of no kind":            {"resourceSelectors: [{apiVersion: \"\", kind: ConfigMap}]\n" + rule(""), "spec.resourceSelectors: apiVersion and kind must be set"},
		"labels that are compared wrongly": {"resourceSelectors: [{apiVersion: v1, kind: Secret, labelSelector: {matchExpressions: [{key: a, operator: In}]}}]\n" + rule(""), "spec.resourceSelectors.labelSelector.matchExpressions: an expression must have"},
		"labels of clusters that are not":  {"overrideRules: [{targetCluster: {labelSelector: {matchExpressions: [{key: a, operator: is}]}}, overriders: {}}]\n", "spec.overrideRules.targetCluster.labelSelector.matchExpressions: an expression must have"},
		"labels of the older form":         {"targetCluster: {labelSelector: {matchExpressions: [{key: a, operator: is}]}}\n", "spec.overrideRules.targetCluster.labelSelector.matchExpressions: an expression must have"},
		"a rule that says nothing":         {"overrideRules: [{}]\n", "spec.overrideRules[0].overriders"},
		"another namespace for the object": {rule("plaintext: [{path: /metadata/namespace, operator: replace, value: kube-system}]"), "an override cannot change what an object is, as /metadata/namespace says"},
		"another name":                     {rule("plaintext: [{path: /spec, operator: remove}, {path: /metadata/name, operator: replace, value: x}]"), "what an object is, as /metadata/name says"},
		"an owner":                         {rule("plaintext: [{path: /metadata/ownerReferences/0/uid, operator: replace, value: x}]"), "what an object is, as /metadata/ownerReferences/0/uid says"},
		"a name through an image":          {rule("imageOverrider: [{component: Registry, operator: add, value: x, predicate: {path: /metadata/namespace}}]"), "what an object is, as /metadata/namespace says"},
		"a kind through a field":           {rule("fieldOverrider: [{fieldPath: /kind, json: [{subPath: /a, operator: remove}]}]"), "what an object is, as /kind says"},
		"a field that only begins so":      {spec: rule("plaintext: [{path: /metadata/namespaces, operator: remove}, {path: /kinds, operator: remove}]")},
	}
	maps.Copy(tests, more)
	a.answers(t, tests, "OverridePolicy", "ClusterOverridePolicy")
}

// TestOnlyOperatorsOverrideWhoMayDoWhat checks that a tenant's OverridePolicy cannot change RBAC objects; an operator's
// ClusterOverridePolicy can.
func TestOnlyOperatorsOverrideWhoMayDoWhat(t *testing.T) {
	t.Parallel()
	a := startAdmission(t)
	g := NewWithT(t)
	for _, path := range []string{"/subjects", "/subjects/0/name", "/roleRef/name", "/rules", "/rules/0/verbs/-", "/aggregationRule"} {
		spec := "overrideRules:\n- overriders: {plaintext: [{path: " + path + ", operator: replace, value: x}]}\n"
		g.Expect(a.create(t, "OverridePolicy", spec)).To(MatchError(ContainSubstring("an OverridePolicy cannot change rights, as " + path + " says")))
		g.Expect(a.create(t, "ClusterOverridePolicy", spec)).To(Succeed())
	}
}

func TestProtectedObjectsCannotBeDeleted(t *testing.T) {
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
	g.Eventually(func() error { return a.client.Delete(t.Context(), obj, client.DryRunAll) }, "1m", "50ms").
		Should(And(Satisfy(apierrors.IsForbidden), MatchError(ContainSubstring("This resource is protected, so ConfigMap "+obj.GetName()+" cannot be deleted; remove the label first"))))
	g.Expect(a.client.DeleteAllOf(t.Context(), obj, client.InNamespace(a.namespace), client.DryRunAll)).NotTo(Succeed())
	obj.SetLabels(map[string]string{contract.DeletionProtectedLabel: "never"})
	g.Expect(a.client.Update(t.Context(), obj)).To(Succeed())
	g.Expect(a.client.Delete(t.Context(), obj)).To(Succeed())
	g.Expect(a.client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)).To(Satisfy(apierrors.IsNotFound))
}

func TestWebhookConfigurationsAreValidated(t *testing.T) {
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

func TestAPolicyOfTheWholeHubIsHeldToNoNamespace(t *testing.T) {
	t.Parallel()
	a := startAdmission(t)
	g := NewWithT(t)
	const elsewhere = "resourceSelectors: [{apiVersion: v1, kind: ConfigMap, namespace: elsewhere, name: none}]\n"
	g.Expect(a.create(t, "ClusterOverridePolicy", elsewhere+"overrideRules: [{overriders: {}}]\n")).To(Succeed())
	p := a.object(t, "policy.karmada.io/v1alpha1", "ClusterPropagationPolicy", elsewhere)
	g.Expect(a.client.Create(t.Context(), p)).To(Succeed())
	t.Cleanup(func() { _ = a.client.Delete(context.WithoutCancel(t.Context()), p) })
	p.SetLabels(map[string]string{contract.ClusterPropagationPolicyPermanentIDLabel: "one"})
	g.Expect(a.client.Update(t.Context(), p)).To(Succeed(), "it gets its id")
	g.Expect(unstructured.SetNestedField(p.Object, int64(3), "spec", "priority")).To(Succeed())
	g.Expect(a.client.Update(t.Context(), p)).To(Succeed(), "its author changes it")
	p.SetLabels(map[string]string{contract.ClusterPropagationPolicyPermanentIDLabel: "two"})
	g.Expect(a.client.Update(t.Context(), p, client.DryRunAll)).To(MatchError(ContainSubstring("permanent-id]: is set once")))
}
