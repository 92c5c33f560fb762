package apiserver

import (
	"context"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
)

func TestOtherKindsAreValidated(t *testing.T) {
	t.Parallel()
	a := startAdmission(t)
	const (
		policy, apps, remedy = "policy.karmada.io/v1alpha1", "apps.karmada.io/v1alpha1", "remedy.karmada.io/v1alpha1"
		quota, taint         = "FederatedResourceQuota", "ClusterTaintPolicy"
		rebalancer, remedies = "WorkloadRebalancer", "Remedy"
		scaling, scaler      = "autoscaling.karmada.io/v1alpha1", "CronFederatedHPA"
		config, rules        = "config.karmada.io/v1alpha1", "ResourceInterpreterCustomization"
	)
	// The policies may not be in force yet.
	for kind, spec := range map[string]string{
		quota:  "overall: {cpu: 1}\nstaticAssignments: [{clusterName: a, hard: {cpu: 2}}]\n",
		taint:  "taints: [{key: a b, effect: NoSchedule}]\n",
		scaler: cronRules("{name: a}"),
	} {
		NewWithT(t).Eventually(func() error {
			return a.try(t, map[string]string{scaler: scaling, quota: policy, taint: policy}[kind], kind, spec)
		}, "1m", "50ms").ShouldNot(Succeed())
	}
	tests := map[string]struct{ apiVersion, kind, spec, want string }{
		"a quota":                             {policy, quota, "overall: {cpu: 300m, requests.memory: 2Gi}\nstaticAssignments: [{clusterName: a, hard: {cpu: 100m}}, {clusterName: b, hard: {cpu: 200m, requests.memory: 2Gi}}]\n", ""},
		"a quota of less than nothing":        {policy, quota, "overall: {cpu: -1}\n", "spec.overall: an amount must be a non-negative quantity"},
		"a quota that takes minutes to read":  {policy, quota, "overall: {cpu: \"1e-99999999\"}\n", "spec.overall.cpu"},
		"a part that takes minutes to read":   {policy, quota, "overall: {cpu: 1}\nstaticAssignments: [{clusterName: a, hard: {cpu: \"1e99999999\"}}]\n", "spec.staticAssignments[0].hard.cpu"},
		"a quota of no resource":              {policy, quota, "overall: {\"a b\": 1}\n", "requests.memory, or have a domain, such as example.com/gpu; a b is not"},
		"a quota of a resource with a domain": {policy, quota, "overall: {example.com/gpu: 1, requests.example.com/gpu: 1, count/deployments.apps: 2, hugepages-2Mi: 1Gi, requests.storage: 1Gi, pods: 3}\n", ""},
		"a quota of what nobody knows":        {policy, quota, "overall: {cpus: 1}\n", "cpus is not"},
		"a quota of half a pod":               {policy, quota, "overall: {pods: 500m}\n", "spec.overall: pods must be a whole number"},
		"a cluster with two parts":            {policy, quota, "overall: {cpu: 3}\nstaticAssignments: [{clusterName: a, hard: {cpu: 1}}, {clusterName: a, hard: {cpu: 1}}]\n", "a cluster can have only one assignment, and a is repeated"},
		"a part of less than nothing":         {policy, quota, "overall: {cpu: 1}\nstaticAssignments: [{clusterName: a, hard: {cpu: -1}}]\n", "spec.staticAssignments.hard: an amount must be"},
		"a part of something else":            {policy, quota, "overall: {cpu: 1}\nstaticAssignments: [{clusterName: a, hard: {memory: 1}}]\n", "an assigned resource must also be in spec.overall"},
		"parts that are more than the whole":  {policy, quota, "overall: {cpu: 300m}\nstaticAssignments: [{clusterName: a, hard: {cpu: 200m}}, {clusterName: b, hard: {cpu: 101m}}]\n", "spec.staticAssignments: the sum of all clusters exceeds spec.overall in cpu"},
		"a part of no cluster":                {policy, quota, "overall: {cpu: 1}\nstaticAssignments: [{clusterName: a_b, hard: {cpu: 1}}]\n", "spec.staticAssignments.clusterName"},
		"a taint":                             {policy, taint, "taints: [{key: example.com/k, effect: NoSchedule, value: v}, {key: example.com/k, effect: NoExecute}]\naddOnConditions: [{conditionType: Ready, operator: NotIn, statusValues: [\"True\"]}]\n", ""},
		"a taint that is no label":            {policy, taint, "taints: [{key: a b, effect: NoSchedule}]\n", "spec.taints.key: \"a b\" is not a valid label key"},
		"a taint with a value that is none":   {policy, taint, "taints: [{key: a, effect: NoSchedule, value: b c}]\n", "spec.taints.value: \"b c\" is not a valid label value"},
		"a taint twice":                       {policy, taint, "taints: [{key: a, effect: NoSchedule}, {key: a, effect: NoSchedule, value: b}]\n", "spec.taints: each key may appear only once with the same effect, and a is repeated"},
		"a taint that evicts":                 {policy, taint, "taints: [{key: a, effect: NoExecute}]\n", ""},
		"a taint that clusters have not":      {policy, taint, "taints: [{key: a, effect: PreferNoSchedule}]\n", "spec.taints[0].effect"},
		"a taint by labels that are not":      {policy, taint, "targetClusters: {labelSelector: {matchExpressions: [{key: a, operator: In}]}}\ntaints: [{key: a, effect: NoSchedule}]\n", "spec.targetClusters.labelSelector.matchExpressions: an expression must have"},
		"no taint":                            {policy, taint, "taints: []\n", "spec.taints"},
		"a condition that is none":            {policy, taint, "taints: [{key: a, effect: NoSchedule}]\naddOnConditions: [{conditionType: Ready, operator: In, statusValues: [Perhaps]}]\n", "spec.addOnConditions[0].statusValues[0]"},
		"a taint by a field of no cluster":    {policy, taint, "targetClusters: {fieldSelector: {matchExpressions: [{key: planet, operator: In}]}}\ntaints: [{key: a, effect: NoSchedule}]\n", "spec.targetClusters: the key"},
		"a rebalancer":                        {apps, rebalancer, "workloads: [{apiVersion: apps/v1, kind: Deployment, namespace: shop, name: web}]\nttlSecondsAfterFinished: 5\n", ""},
		"a rebalancer of nothing":             {apps, rebalancer, "workloads: []\n", "spec.workloads"},
		"a rebalancer of no name":             {apps, rebalancer, "workloads: [{apiVersion: apps/v1, kind: Deployment}]\n", "spec.workloads[0].name"},
		"a rebalancer that goes too early":    {apps, rebalancer, "workloads: [{apiVersion: apps/v1, kind: Deployment, name: web}]\nttlSecondsAfterFinished: -1\n", "spec.ttlSecondsAfterFinished"},
		"rules that scale by the clock":       {scaling, scaler, cronRules("{name: a, schedule: '0 8 * * MON-FRI', targetReplicas: 5, timeZone: Europe/Berlin}", "{name: b, schedule: '@daily', targetReplicas: 0, suspend: true}", "{name: c, schedule: '*/5,7 0-6/2 L,15W 1,feb 5#2', targetReplicas: 1}"), ""},
		"a rule that is no cron":              {scaling, scaler, cronRules("{name: a, schedule: 'at noon', targetReplicas: 1}"), "correct rule a (at noon)"},
		"a rule of seconds":                   {scaling, scaler, cronRules("{name: a, schedule: '0 0 * * * *', targetReplicas: 1}"), "spec.rules.schedule: must have five fields of cron"},
		"a rule at minute 60":                 {scaling, scaler, cronRules("{name: a, schedule: '60 * * * *', targetReplicas: 1}"), "spec.rules.schedule: must have five fields of cron"},
		"a rule at hour 24":                   {scaling, scaler, cronRules("{name: a, schedule: '0 24 * * *', targetReplicas: 1}"), "spec.rules.schedule: must have five fields of cron"},
		"a rule on day 32":                    {scaling, scaler, cronRules("{name: a, schedule: '0 0 32 * *', targetReplicas: 1}"), "spec.rules.schedule: must have five fields of cron"},
		"a rule in month 13":                  {scaling, scaler, cronRules("{name: a, schedule: '0 0 * 13 *', targetReplicas: 1}"), "spec.rules.schedule: must have five fields of cron"},
		"a rule on day 8 of the week":         {scaling, scaler, cronRules("{name: a, schedule: '0 0 * * 8', targetReplicas: 1}"), "spec.rules.schedule: must have five fields of cron"},
		"a rule in steps of nothing":          {scaling, scaler, cronRules("{name: a, schedule: '*/0 * * * *', targetReplicas: 1}"), "spec.rules.schedule: must have five fields of cron"},
		"a rule every second":                 {scaling, scaler, cronRules("{name: a, schedule: '@everysecond', targetReplicas: 1}"), "spec.rules.schedule: must have five fields of cron"},
		"a rule with a range backwards":       {scaling, scaler, cronRules("{name: a, schedule: '0 5-1 * * *', targetReplicas: 1}"), "must go from the smaller number to the greater one; correct rule a (0 5-1 * * *)"},
		"a rule without a schedule":           {scaling, scaler, cronRules("{name: a, targetReplicas: 1}"), "spec.rules[0].schedule"},
		"a rule in no time zone":              {scaling, scaler, cronRules("{name: a, schedule: '@daily', targetReplicas: 1, timeZone: Mars/Olympus}"), "spec.rules.timeZone: must be the name of a time zone"},
		"a rule in a zone that is an offset":  {scaling, scaler, cronRules("{name: a, schedule: '@daily', targetReplicas: 1, timeZone: '02:00'}"), "spec.rules.timeZone: must be the name of a time zone"},
		"two rules of one name":               {scaling, scaler, cronRules("{name: a, schedule: '@daily', targetReplicas: 1}", "{name: a, schedule: '@hourly', targetReplicas: 2}"), "spec.rules: each rule must have a unique name, and a is repeated"},
		"a rule without replicas":             {scaling, scaler, cronRules("{name: a, schedule: '@daily', targetMinReplicas: 1}"), "spec.rules.targetReplicas: must be a number of replicas, 0 or more; it is missing in rule a"},
		"a rule of less than no replicas":     {scaling, scaler, cronRules("{name: a, schedule: '@daily', targetReplicas: -1}"), "spec.rules.targetReplicas"},
		"a rule that keeps no history":        {scaling, scaler, cronRules("{name: a, schedule: '@daily', targetReplicas: 1, successfulHistoryLimit: 0}"), "spec.rules[0].successfulHistoryLimit"},
		"a hundred rules and one":             {scaling, scaler, cronRules(manyRules(101)...), "spec.rules: Too many: 101: must have at most 100 items"},
		"a rule that keeps all history":       {scaling, scaler, cronRules("{name: a, schedule: '@daily', targetReplicas: 1, failedHistoryLimit: 33}"), "spec.rules[0].failedHistoryLimit"},
		"rules that scale nothing":            {scaling, scaler, "rules: []\n", "spec.scaleTargetRef"},
		"rules that scale no kind":            {scaling, scaler, "scaleTargetRef: {kind: Deployment, name: web}\nrules: []\n", "spec.scaleTargetRef: apiVersion, kind and name must name the object to scale"},
		"rules that scale a FederatedHPA":     {scaling, scaler, "scaleTargetRef: {apiVersion: autoscaling.karmada.io/v1alpha1, kind: FederatedHPA, name: web}\nrules: []\n", "spec.scaleTargetRef: a FederatedHPA cannot be scaled"},
		"rules":                               {config, rules, "target: {apiVersion: example.com/v1, kind: Website}\ncustomizations: {retention: {luaScript: \"function Retain(a, b) return a end\"}}\n", ""},
		"rules for no kind":                   {config, rules, "target: {apiVersion: example.com/v1, kind: \"\"}\ncustomizations: {}\n", "spec.target.kind"},
		"rules without a script":              {config, rules, "target: {apiVersion: example.com/v1, kind: Website}\ncustomizations: {retention: {}}\n", "spec.customizations.retention.luaScript"},
		"a remedy that nobody knows":          {remedy, remedies, "actions: [Restart]\n", "spec.actions[0]: Unsupported value: \"Restart\""},
		"a remedy":                            {remedy, remedies, "decisionMatches: [{clusterConditionMatch: {conditionType: R, operator: NotEqual, conditionStatus: \"True\"}}]\nactions: [TrafficControl]\n", ""},
		"a remedy that cannot compare":        {remedy, remedies, "decisionMatches: [{clusterConditionMatch: {conditionType: R, operator: Like, conditionStatus: \"True\"}}]\n", "operator"},
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

func manyRules(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("{name: r%d, schedule: '@daily', targetReplicas: 1}", i)
	}
	return out
}

// cronRules returns the spec of a CronFederatedHPA that scales a Deployment.
func cronRules(rules ...string) string {
	return "scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}\nrules: [" + strings.Join(rules, ", ") + "]\n"
}

// TestAnAgentHasNobodyCalculateForMinutes has an agent report quantities that whoever reads the Cluster would expand
// digit by digit.
func TestAnAgentHasNobodyCalculateForMinutes(t *testing.T) {
	t.Parallel()
	a := startAdmission(t)
	g := NewWithT(t)
	u := a.object(t, "cluster.karmada.io/v1alpha1", "Cluster", "syncMode: Pull\n")
	g.Expect(a.client.Create(t.Context(), u)).To(Succeed())
	for _, amount := range []string{"1e-99999999", "1e99999999", "1E+100", strings.Repeat("1", 100)} {
		u.Object["status"] = map[string]any{"resourceSummary": map[string]any{"allocatable": map[string]any{"cpu": amount}}}
		g.Expect(a.client.Status().Update(t.Context(), u.DeepCopy())).To(MatchError(ContainSubstring("status.resourceSummary.allocatable.cpu")), amount)
	}
	for _, amount := range []any{"1e3", "12E", "100m", "0.5", int64(4), "1500Mi"} {
		u.Object["status"] = map[string]any{"resourceSummary": map[string]any{"allocatable": map[string]any{"cpu": amount}}}
		g.Expect(a.client.Status().Update(t.Context(), u)).To(Succeed())
	}
}

func TestTheNameOfAQuotaBecomesALabel(t *testing.T) {
	t.Parallel()
	a := startAdmission(t)
	u := a.object(t, "policy.karmada.io/v1alpha1", "FederatedResourceQuota", "overall: {cpu: 1}\n")
	u.SetGenerateName("")
	u.SetName(strings.Repeat("a", 64))
	NewWithT(t).Eventually(func() error { return a.client.Create(t.Context(), u, client.DryRunAll) }, "1m", "50ms").
		Should(MatchError(ContainSubstring("metadata.name: must be no longer than 63 characters")))
}

func TestBindingsAreValidated(t *testing.T) {
	t.Parallel()
	a := startAdmission(t)
	const resource = "resource: {apiVersion: v1, kind: ConfigMap, name: c}\n"
	tests := map[string]struct{ spec, dependencies, want string }{
		"the least":                   {spec: resource},
		"components by name":          {spec: resource + "components: [{name: a, replicas: 1}, {name: b, replicas: 2}]\n"},
		"a component twice":           {resource + "components: [{name: a, replicas: 1}, {name: a, replicas: 2}]\n", "", "spec.components: each component must have a unique name"},
		"a component without a name":  {resource + "components: [{name: \"\", replicas: 1}]\n", "", "spec.components: each component must have a unique name"},
		"a component of a long name":  {resource + "components: [{name: " + strings.Repeat("a", 33) + ", replicas: 1}]\n", "", "spec.components[0].name"},
		"what it needs":               {spec: resource, dependencies: `[{"apiVersion":"v1","kind":"Secret","namespace":"a","name":"b"}]`},
		"what it needs, over lines":   {spec: resource, dependencies: " [\n{}\n]\n"},
		"what it needs, as no list":   {resource, `{"apiVersion":"v1"}`, "metadata.annotations[resourcebinding.karmada.io/dependencies]: must be a JSON list"},
		"what it needs, as no JSON":   {resource, "Secret b", "must be a JSON list of the dependencies of the object"},
		"a task without a reason":     {resource + "gracefulEvictionTasks: [{fromCluster: a, producer: me, reason: \"\"}]\n", "", "spec.gracefulEvictionTasks[0].reason"},
		"a task of a wordy reason":    {resource + "gracefulEvictionTasks: [{fromCluster: a, producer: me, reason: by hand}]\n", "", "spec.gracefulEvictionTasks[0].reason"},
		"a task with an older mode":   {spec: resource + "gracefulEvictionTasks: [{fromCluster: a, producer: me, reason: ByHand, purgeMode: Immediately}]\n"},
		"a task with an unknown mode": {resource + "gracefulEvictionTasks: [{fromCluster: a, producer: me, reason: ByHand, purgeMode: Later}]\n", "", "spec.gracefulEvictionTasks[0].purgeMode"},
		"a conflict that is neither":  {resource + "conflictResolution: Merge\n", "", "spec.conflictResolution"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, kind := range []string{"ResourceBinding", "ClusterResourceBinding"} {
				u := a.object(t, "work.karmada.io/v1alpha2", kind, tt.spec)
				if tt.dependencies != "" {
					u.SetAnnotations(map[string]string{contract.DependenciesAnnotation: tt.dependencies})
				}
				err := a.client.Create(t.Context(), u, client.DryRunAll)
				if tt.want == "" {
					NewWithT(t).Expect(err).NotTo(HaveOccurred(), kind)
				} else {
					NewWithT(t).Expect(err).To(MatchError(ContainSubstring(tt.want)), kind)
				}
			}
		})
	}
}

func TestClustersAreValidated(t *testing.T) {
	t.Parallel()
	a := startAdmission(t)
	try := func(t *testing.T, name, spec string) error {
		t.Helper()
		u := a.object(t, "cluster.karmada.io/v1alpha1", "Cluster", "syncMode: Pull\n"+spec)
		u.SetGenerateName("")
		u.SetName(name)
		return a.client.Create(t.Context(), u, client.DryRunAll)
	}
	models := func(grades ...string) string { return "resourceModels: [" + strings.Join(grades, ", ") + "]\n" }
	const name = "edge-1"
	tests := map[string]struct{ name, spec, want string }{
		"the least":                         {name: name},
		"all of it":                         {name: strings.Repeat("a", 48), spec: "region: eu\nprovider: own\nzones: [a, b]\napiEndpoint: \"https://10.0.0.1:6443/k8s\"\nproxyURL: \"socks5://proxy:1080\"\ntaints: [{key: a, effect: NoSchedule}, {key: a, value: b, effect: NoExecute}]\n" + models("{grade: 0, ranges: [{name: cpu, min: 0, max: 1}, {name: memory, min: 0, max: 1Gi}]}", "{grade: 1, ranges: [{name: memory, min: 1024Mi, max: 2Gi}, {name: cpu, min: 1000m, max: 2}]}")},
		"a long name":                       {strings.Repeat("a", 49), "", "metadata.name: a cluster's name is a DNS label of at most 48 characters"},
		"a name with a dot":                 {"edge.1", "", "metadata.name: a cluster's name is a DNS label"},
		"a region that is no label":         {name, "region: a b\n", "spec.region"},
		"a zone and zones":                  {name, "zone: a\nzones: [b]\n", "spec.zone: is the older form of zones and cannot be used with it"},
		"an endpoint that is no URL":        {name, "apiEndpoint: 10.0.0.1\n", "spec.apiEndpoint: \"10.0.0.1\" must be a URL with a host"},
		"an endpoint with a user":           {name, "apiEndpoint: \"https://me@10.0.0.1\"\n", "without user, query or fragment"},
		"a proxy that nobody speaks":        {name, "proxyURL: \"ftp://proxy\"\n", "spec.proxyURL: \"ftp://proxy\" must be a URL with a host, of scheme http, https or socks5"},
		"a taint that clusters have not":    {name, "taints: [{key: a, effect: PreferNoSchedule}]\n", "spec.taints.effect: a cluster cannot have taints of effect PreferNoSchedule"},
		"a taint that is no label":          {name, "taints: [{key: a b, effect: NoSchedule}]\n", "spec.taints.key: \"a b\" is not a valid label key"},
		"a taint with a value that is none": {name, "taints: [{key: a, value: b c, effect: NoSchedule}]\n", "spec.taints.value: \"b c\" is not a valid label value"},
		"a taint twice":                     {name, "taints: [{key: a, effect: NoSchedule}, {key: a, value: b, effect: NoSchedule}]\n", "spec.taints: a may appear only once with the same effect"},
		"a limit of some resources":         {name, "capacityLimit: {cpu: 8, memory: 16Gi, example.com/gpu: 0}\n", ""},
		"a limit below nothing":             {name, "capacityLimit: {cpu: -8}\n", "spec.capacityLimit: an amount cannot be negative"},
		"a grade twice":                     {name, models("{grade: 0, ranges: [{name: cpu, min: 0, max: 1}]}", "{grade: 0, ranges: [{name: cpu, min: 1, max: 2}]}"), "spec.resourceModels.grade: each grade"},
		"a grade of nothing":                {name, models("{grade: 0, ranges: []}"), "spec.resourceModels.ranges: every grade needs"},
		"grades of different resources":     {name, models("{grade: 0, ranges: [{name: cpu, min: 0, max: 1}]}", "{grade: 1, ranges: [{name: memory, min: 1, max: 2}]}"), "the same resources as the others"},
		"a range of nothing":                {name, models("{grade: 0, ranges: [{name: cpu, min: 0, max: 1}]}", "{grade: 1, ranges: [{name: cpu, min: 1, max: 1}]}", "{grade: 2, ranges: [{name: cpu, min: 1, max: 2}]}"), "spec.resourceModels.ranges: max must be greater than min"},
		"nodes between two grades":          {name, models("{grade: 3, ranges: [{name: cpu, min: 2, max: 4}]}", "{grade: 0, ranges: [{name: cpu, min: 0, max: 1}]}"), "min of a grade must be max of the grade below it"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := try(t, tt.name, tt.spec)
			if tt.want == "" {
				NewWithT(t).Expect(err).NotTo(HaveOccurred())
			} else {
				NewWithT(t).Expect(err).To(MatchError(ContainSubstring(tt.want)))
			}
		})
	}
	NewWithT(t).Expect(a.try(t, "cluster.karmada.io/v1alpha1", "Cluster", "syncMode: Push\n")).To(MatchError(ContainSubstring("spec.syncMode")))
}

func TestABindingKeepsItsPermanentID(t *testing.T) {
	t.Parallel()
	a := startAdmission(t)
	for kind, label := range map[string]string{
		"ResourceBinding": contract.ResourceBindingPermanentIDLabel, "ClusterResourceBinding": contract.ClusterResourceBindingPermanentIDLabel,
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			b := a.object(t, "work.karmada.io/v1alpha2", kind, "resource: {apiVersion: v1, kind: ConfigMap, name: c}\n")
			g.Expect(a.client.Create(t.Context(), b)).To(Succeed())
			t.Cleanup(func() { _ = a.client.Delete(context.WithoutCancel(t.Context()), b) })
			b.SetLabels(map[string]string{label: "one"})
			g.Expect(a.client.Update(t.Context(), b)).To(Succeed(), "it gets its id")
			for _, labels := range []map[string]string{nil, {label: "two"}} {
				changed := b.DeepCopy()
				changed.SetLabels(labels)
				g.Eventually(func() error { return a.client.Update(t.Context(), changed, client.DryRunAll) }, "1m", "50ms").
					Should(MatchError(ContainSubstring("permanent-id]: is set once and cannot be changed or removed")))
			}
			b.SetAnnotations(map[string]string{"a": "b"})
			g.Expect(unstructured.SetNestedSlice(b.Object, []any{map[string]any{"name": "edge-1"}}, "spec", "clusters")).To(Succeed())
			g.Expect(a.client.Update(t.Context(), b)).To(Succeed(), "anything else of it may change")
		})
	}
}
