package lua

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/interpreter"
)

var deployments = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}

func TestEveryOperation(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ctx := context.Background()
	i, obj := compileAll(t, customization("a", everyRule())), deployed(t)
	before := obj.DeepCopy()
	for _, op := range interpreter.Operations() {
		g.Expect(i.Has(deployments, op)).To(BeTrue(), string(op))
		g.Expect(i.Has(schema.GroupVersionKind{Group: "apps", Version: "v1beta1", Kind: "Deployment"}, op)).To(BeFalse(), string(op))
	}

	replicas, requirements, err := i.Replicas(ctx, obj)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(replicas).To(Equal(int32(3)))
	g.Expect(requirements.ResourceRequest.Cpu().String()).To(Equal("100m"))

	components, err := i.Components(ctx, obj)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(components).To(HaveLen(1))
	g.Expect(components[0].ReplicaRequirements.ResourceRequest[corev1.ResourceCPU]).To(Equal(resource.MustParse("1")))

	refs, err := i.Dependencies(ctx, obj)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(refs).To(BeComparableTo([]configv1alpha1.DependentObjectReference{
		{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "web"},
		{APIVersion: "v1", Kind: "Secret", Namespace: "shop", Name: "web"},
		{APIVersion: "v1", Kind: "ServiceAccount", Namespace: "shop", Name: "web"},
	}))

	revised, err := i.ReviseReplicas(ctx, obj, 7)
	g.Expect(err).NotTo(HaveOccurred())
	want := obj.DeepCopy()
	g.Expect(unstructured.SetNestedField(want.Object, int64(7), "spec", "replicas")).To(Succeed())
	g.Expect(revised.Object).To(BeComparableTo(want.Object), "nothing else changes, not even the empty objects")

	live := obj.DeepCopy()
	g.Expect(unstructured.SetNestedField(live.Object, int64(9), "spec", "replicas")).To(Succeed())
	retained, err := i.Retain(ctx, obj, live)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(retained.Object).To(BeComparableTo(live.Object))

	status, err := i.ReflectStatus(ctx, obj)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(status.Raw)).To(MatchJSON(`{"replicas": 3, "readyReplicas": 3, "generation": 4}`))

	g.Expect(i.Health(ctx, obj)).To(Equal(workv1alpha1.Healthy))
	g.Expect(unstructured.SetNestedField(live.Object, int64(1), "status", "availableReplicas")).To(Succeed())
	g.Expect(i.Health(ctx, live)).To(Equal(workv1alpha1.Unhealthy))

	items := []workv1alpha2.AggregatedStatusItem{
		{ClusterName: "edge-1", Status: &runtime.RawExtension{Raw: []byte(`{"replicas": 2, "readyReplicas": 1}`)}, Applied: true},
		{ClusterName: "edge-2"},
	}
	aggregated, err := i.AggregateStatus(ctx, obj, items)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(aggregated.Object["status"]).To(BeComparableTo(map[string]any{"replicas": int64(2), "readyReplicas": int64(1)}))
	again, err := i.AggregateStatus(ctx, aggregated, items)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again).To(BeIdenticalTo(aggregated), "nothing changes")

	g.Expect(obj).To(BeComparableTo(before), "no method changes its arguments")
}

func TestScriptsAreGivenTheStatusOfEachCluster(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := compileAll(t, customization("a", configv1alpha1.CustomizationRules{StatusAggregation: script(`
function AggregateStatus(desired, items)
  if items == nil then desired.status = { none = true } return desired end
  local it = items[1]
  desired.status = { name = it.clusterName, applied = it.applied, said = it.appliedMessage, health = it.health, count = #items, more = it.status.more }
  return desired
end`)}))
	obj := deployed(t)
	out, err := i.AggregateStatus(context.Background(), obj, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out.Object["status"]).To(Equal(map[string]any{"none": true}))
	out, err = i.AggregateStatus(context.Background(), obj, []workv1alpha2.AggregatedStatusItem{{
		ClusterName: "edge-1", Applied: true, AppliedMessage: "yes", Health: workv1alpha1.Healthy, Status: &runtime.RawExtension{Raw: []byte(`{"more": [1]}`)},
	}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out.Object["status"]).To(BeComparableTo(map[string]any{
		"name": "edge-1", "applied": true, "said": "yes", "health": "Healthy", "count": int64(1), "more": []any{int64(1)},
	}))
}

func TestWrongAnswers(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		op     interpreter.Operation
		script string
		want   string
	}{
		"replicas that are a text":             {interpreter.InterpretReplica, `function GetReplicas() return "3" end`, "must be a number, but is the text \"3\""},
		"replicas that are nil":                {interpreter.InterpretReplica, `function GetReplicas() end`, "must be a number, but is nil"},
		"replicas that are negative":           {interpreter.InterpretReplica, `function GetReplicas() return -1 end`, "-1 is no number of replicas"},
		"replicas that are not whole":          {interpreter.InterpretReplica, `function GetReplicas() return 0.5 end`, "no number of replicas"},
		"replicas that are not a number":       {interpreter.InterpretReplica, `function GetReplicas() return 0/0 end`, "no number of replicas"},
		"requirements that are a number":       {interpreter.InterpretReplica, `function GetReplicas() return 1, 2 end`, "returns second must be an object, but is number"},
		"requirements with a bad quantity":     {interpreter.InterpretReplica, `function GetReplicas() return 1, {resourceRequest = {cpu = "much"}} end`, "quantities must match"},
		"requirements of too many digits":      {interpreter.InterpretReplica, `function GetReplicas() return 1, {resourceRequest = {cpu = "1e-999999999"}} end`, "the exponent of a quantity is at most 30"},
		"requirements of less than nothing":    {interpreter.InterpretReplica, `function GetReplicas() return 1, {resourceRequest = {cpu = "-1"}} end`, "resourceRequest.cpu: an amount is not less than 0, but this is -1"},
		"a number that is less than nothing":   {interpreter.InterpretReplica, `function GetReplicas() return 1, {resourceRequest = {cpu = -1000}} end`, "resourceRequest.cpu: an amount is not less than 0"},
		"half a number less than nothing":      {interpreter.InterpretReplica, `function GetReplicas() return 1, {resourceRequest = {cpu = -0.5}} end`, "resourceRequest.cpu: an amount is not less than 0"},
		"components of less than nothing":      {interpreter.InterpretComponent, `function GetComponents() return {{name = "a", replicaRequirements = {resourceRequest = {cpu = "-1"}}}} end`, "entry 1 of the list: resourceRequest.cpu: an amount is not less than 0"},
		"components of too many digits":        {interpreter.InterpretComponent, `function GetComponents() return {{name = "a", replicaRequirements = {resourceRequest = {cpu = "1e999999999"}}}} end`, "entry 1 of the list: resourceRequest.cpu"},
		"components whose replicas are a text": {interpreter.InterpretComponent, `function GetComponents() return {{name = "a", replicas = "3"}} end`, `entry 1 of the list: replicas must be a whole number from 0 on, but is the text "3"`},
		"the field of the replicas":            {interpreter.InterpretReplica, `function GetReplicas() return "3" end`, "replicas: what the function returns"},
		"components that are a number":         {interpreter.InterpretComponent, `function GetComponents() return 1 end`, "must be a list, but is number"},
		"components that are an object":        {interpreter.InterpretComponent, `function GetComponents() return {a = 1} end`, "is an object"},
		"components of texts":                  {interpreter.InterpretComponent, `function GetComponents() return {"a"} end`, "entry 1 of the list is no table"},
		"no revised object":                    {interpreter.ReviseReplica, `function ReviseReplica() end`, "must be an object, but is nil"},
		"a revised object without a kind":      {interpreter.ReviseReplica, `function ReviseReplica(o) o.kind = nil return o end`, "must return the object that it was given"},
		"a revised object of another name":     {interpreter.ReviseReplica, `function ReviseReplica(o) o.metadata.name = "x" return o end`, "must return the object that it was given"},
		"no retained object":                   {interpreter.Retain, `function Retain() return true end`, "must be an object, but is boolean"},
		"a status that is a text":              {interpreter.InterpretStatus, `function ReflectStatus() return "ok" end`, "must be an object"},
		"a health that is nil":                 {interpreter.InterpretHealth, `function InterpretHealth() end`, "must be true or false, but is nil"},
		"a health that is a text":              {interpreter.InterpretHealth, `function InterpretHealth() return "Healthy" end`, "must be true or false, but is the text \"Healthy\""},
		"dependencies that are nil":            {interpreter.InterpretDependency, `function GetDependencies() end`, "must be a list, but is nil"},
		"a dependency without a kind":          {interpreter.InterpretDependency, `function GetDependencies() return {{apiVersion = "v1", name = "x"}} end`, "it has no kind"},
		"a dependency with a wrong type":       {interpreter.InterpretDependency, `function GetDependencies() return {{apiVersion = 1}} end`, "entry 1 of the list"},
		"no aggregated object":                 {interpreter.AggregateStatus, `function AggregateStatus() end`, "must be an object, but is nil"},
		"a script that fails names its line":   {interpreter.InterpretHealth, "function InterpretHealth(o)\n return o.none.none\nend", "line 2: attempt to index"},
		"a script that does not compile":       {interpreter.InterpretHealth, "function InterpretHealth(o)\n return return\nend", "line 2: syntax error"},
		"a script without the function":        {interpreter.InterpretHealth, "function Health(o) return true end", "defines no function InterpretHealth"},
		"whose rule it is, and about what":     {interpreter.InterpretHealth, `function InterpretHealth() end`, `healthInterpretation of ResourceInterpreterCustomization "a", asked about Deployment "shop/web"`},
		"a list where an object is to be":      {interpreter.ReviseReplica, `function ReviseReplica() return {1} end`, "must be an object, but is a list"},
		"a table that contains itself":         {interpreter.ReviseReplica, `function ReviseReplica(o) o.spec.o = o return o end`, "contains itself"},
		"an object with an infinite number":    {interpreter.ReviseReplica, `function ReviseReplica(o) o.spec.replicas = 1/0 return o end`, "spec.replicas: +Inf is no number"},
		"a quantity that cannot be added":      {interpreter.InterpretReplica, `local kube = require("kube") function GetReplicas() return 1, {resourceRequest = {cpu = kube.resourceAdd("x")}} end`, `"x" is no quantity`},
		"a pod template that is a text":        {interpreter.InterpretReplica, `local kube = require("kube") function GetReplicas() return 1, kube.accuratePodRequirements("x") end`, "table expected, got string"},
		"dependencies of a pod, no namespace":  {interpreter.InterpretDependency, `local kube = require("kube") function GetDependencies(o) return kube.getPodDependencies(o.spec.template) end`, "takes a pod template and a namespace"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := compileAll(t, customization("a", rulesOf(c.op, c.script)))
			NewWithT(t).Expect(asked(i, c.op, deployed(t))).To(MatchError(ContainSubstring(c.want)))
		})
	}
}

func TestNoStatus(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`function ReflectStatus() end`, `function ReflectStatus(o) return o.none end`, `function ReflectStatus() return {} end`} {
		i := compileAll(t, customization("a", configv1alpha1.CustomizationRules{StatusReflection: script(text)}))
		status, err := i.ReflectStatus(context.Background(), deployed(t))
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), text)
		NewWithT(t).Expect(status).To(BeNil(), text)
	}
}

// rulesOf returns rules with one script.
func rulesOf(op interpreter.Operation, text string) (out configv1alpha1.CustomizationRules) {
	switch op {
	case interpreter.InterpretReplica:
		out.ReplicaResource = script(text)
	case interpreter.InterpretComponent:
		out.ComponentResource = script(text)
	case interpreter.InterpretDependency:
		out.DependencyInterpretation = script(text)
	case interpreter.ReviseReplica:
		out.ReplicaRevision = script(text)
	case interpreter.Retain:
		out.Retention = script(text)
	case interpreter.InterpretStatus:
		out.StatusReflection = script(text)
	case interpreter.InterpretHealth:
		out.HealthInterpretation = script(text)
	case interpreter.AggregateStatus:
		out.StatusAggregation = script(text)
	}
	return out
}

// asked returns the error of an operation.
func asked(i interpreter.Interpreter, op interpreter.Operation, obj *unstructured.Unstructured) error {
	_, err := interpreter.Question{Operation: op, Object: obj, Live: obj, Replicas: 1}.Ask(context.Background(), i)
	return err
}

func TestNoRule(t *testing.T) {
	t.Parallel()
	i, obj := compileAll(t), deployed(t)
	for _, op := range interpreter.Operations() {
		NewWithT(t).Expect(asked(i, op, obj)).To(MatchError(ContainSubstring("no rule "+string(op))), string(op))
	}
}

func TestTheKubeModule(t *testing.T) {
	t.Parallel()
	i := compileAll(t, customization("a", configv1alpha1.CustomizationRules{StatusReflection: script(`
local kube = require("kube")
function ReflectStatus()
  return {
    sum = kube.resourceAdd("100m", nil, "1"), none = kube.resourceAdd(), bytes = kube.resourceAdd("1Gi", "512Mi"),
    number = kube.getResourceQuantity("1500m"), absent = kube.getResourceQuantity(nil),
    nothing = kube.accuratePodRequirements({spec = {containers = {{name = "a"}}}}) == nil,
    default = kube.getPodDependencies({spec = {containers = {{name = "a", envFrom = {{secretRef = {name = "s"}}}}}}}, nil)[1].namespace,
    few = #kube.getPodDependencies({}, "x"),
    negative = pcall(kube.getResourceQuantity, "-1"),
  }
end`)}))
	g := NewWithT(t)
	status, err := i.ReflectStatus(context.Background(), deployed(t))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(status.Raw)).To(MatchJSON(`{"sum": "1100m", "none": "0", "bytes": "1536Mi", "number": 1.5, "absent": 0, "nothing": true,
		"default": "default", "few": 0, "negative": false}`))
}

func TestTheFirstByNameAnswers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	healthy := func(answer string) *configv1alpha1.LuaRule {
		return script("function InterpretHealth() return " + answer + " end")
	}
	needs := func(name string) *configv1alpha1.LuaRule {
		return script(`function GetDependencies() return {{apiVersion = "v1", kind = "Secret", name = "` + name + `"}, {apiVersion = "v1", kind = "Secret", labelSelector = {matchLabels = {a = "b"}}}} end`)
	}
	b := customization("b", configv1alpha1.CustomizationRules{HealthInterpretation: healthy("false"), DependencyInterpretation: needs("two"), Retention: script(retainScript)})
	a := customization("a", configv1alpha1.CustomizationRules{HealthInterpretation: healthy("true"), DependencyInterpretation: needs("one")})
	i, obj := compileAll(t, b, a), deployed(t)
	g.Expect(i.Health(context.Background(), obj)).To(Equal(workv1alpha1.Healthy))
	g.Expect(i.Has(deployments, interpreter.Retain)).To(BeTrue(), "each operation for itself")
	refs, err := i.Dependencies(context.Background(), obj)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(refs).To(HaveLen(3), "equal ones are one, with selectors too")

	c, err := NewCompiler(Options{})
	g.Expect(err).NotTo(HaveOccurred())
	all := []configv1alpha1.ResourceInterpreterCustomization{b, a}
	g.Expect(c.Check(&a, all)).To(BeEmpty())
	problems := c.Check(&b, all)
	g.Expect(problems).To(HaveLen(1))
	g.Expect(problems[0].Rule.Field).To(Equal("healthInterpretation"))
	g.Expect(problems[0].ShadowedBy).To(Equal("a"))
}

// TestARuleThatUsesTooMuchIsToldFromOneThatFails has the same rule exceed a limit, and then fail.
func TestARuleThatUsesTooMuchIsToldFromOneThatFails(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := compileAll(t, customization("a", configv1alpha1.CustomizationRules{StatusAggregation: script(`function AggregateStatus(obj, items)
  if #items == 0 then error("nobody") end
  local t = {}
  while true do t[#t + 1] = {} end
end`)}))
	_, err := i.AggregateStatus(t.Context(), deployed(t), []workv1alpha2.AggregatedStatusItem{{ClusterName: "edge-1"}})
	g.Expect(interpreter.IsExceeded(err)).To(BeTrue())
	_, err = i.AggregateStatus(t.Context(), deployed(t), []workv1alpha2.AggregatedStatusItem{})
	g.Expect(err).To(MatchError(ContainSubstring("nobody")))
	g.Expect(interpreter.IsExceeded(err)).To(BeFalse())
}
