package agentlimit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"
	. "github.com/onsi/gomega"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"sigs.k8s.io/yaml"
)

// policy is a policy that the hub installs, with each expression compiled as an API server compiles it.
type policy struct {
	env                    *cel.Env
	variables, validations map[string]cel.Program
	order                  []string
}

func readPolicy(t *testing.T, name string) policy {
	t.Helper()
	g := NewWithT(t)
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "manifests", "policies", name+".yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	of := admissionregistrationv1.ValidatingAdmissionPolicy{}
	g.Expect(yaml.UnmarshalStrict(raw, &of)).To(Succeed())
	set, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(environment.StrictCostOpt)
	g.Expect(err).NotTo(HaveOccurred())
	env, err := set.StoredExpressionsEnv().Extend(
		cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType), cel.Variable("request", cel.DynType), cel.Variable("variables", cel.DynType))
	g.Expect(err).NotTo(HaveOccurred())
	out := policy{env: env, variables: map[string]cel.Program{}, validations: map[string]cel.Program{}}
	compile := func(expression string) cel.Program {
		ast, issues := env.Compile(expression)
		g.Expect(issues.Err()).NotTo(HaveOccurred(), expression)
		program, err := env.Program(ast)
		g.Expect(err).NotTo(HaveOccurred(), expression)
		return program
	}
	for _, v := range of.Spec.Variables {
		out.variables[v.Name] = compile(v.Expression)
		out.order = append(out.order, v.Name)
	}
	for _, v := range of.Spec.Validations {
		out.validations[v.Expression] = compile(v.Expression)
		compile(v.MessageExpression)
	}
	return out
}

// allows returns whether an agent may replace an object by another one, and the maximum cost of evaluating that.
func (p policy) allows(t *testing.T, object, before map[string]any) (allowed bool, cost uint64) {
	t.Helper()
	g := NewWithT(t)
	variables := map[string]any{}
	input := map[string]any{
		"object": object, "oldObject": before, "variables": variables,
		"request": map[string]any{"name": "web", "namespace": "karmada-es-edge-1", "operation": "UPDATE"},
	}
	evaluate := func(program cel.Program) ref.Val {
		value, details, err := program.Eval(input)
		g.Expect(err).NotTo(HaveOccurred())
		cost = max(cost, *details.ActualCost())
		return value
	}
	for _, name := range p.order {
		variables[name] = evaluate(p.variables[name])
	}
	allowed = true
	for _, program := range p.validations {
		is, ok := evaluate(program).Value().(bool)
		allowed = allowed && ok && is
	}
	return allowed, cost
}

func list(n int, of any) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = of
	}
	return out
}

func status(fields map[string]any) map[string]any {
	return map[string]any{"metadata": map[string]any{"name": "web"}, "status": fields}
}

func TestPoliciesBoundWhatAgentsReport(t *testing.T) {
	t.Parallel()
	text := func(n int) string { return strings.Repeat("x", n) }
	kind := map[string]any{"name": "networkinterfaces", "kind": "NetworkInterface"}
	quota := map[string]any{"namespace": "shop", "free": map[string]any{"requests.nvidia.com/gpu": "1500m", "memory": "-1e+3", "pods": int64(3)}}
	odd := map[string]any{"namespace": "shop", "priorityClass": map[string]any{"values": []any{"${PRIORITY}"}}}
	condition := func(message string) map[string]any {
		return map[string]any{"type": "Ready", "status": "True", "message": message, "lastTransitionTime": nil}
	}
	says := func(of, status, at string) map[string]any {
		return map[string]any{"type": of, "status": status, "reason": "R", "message": "It is so.", "lastTransitionTime": at}
	}
	conditions := func(of ...any) map[string]any { return status(map[string]any{"conditions": of}) }
	manifest := func(name string, reflected any) map[string]any {
		return map[string]any{"identifier": map[string]any{"ordinal": int64(0), "kind": "Deployment", "name": name}, "health": "Healthy", "status": reflected}
	}
	applied := func(managers int) map[string]any {
		out := status(map[string]any{})
		out["metadata"] = map[string]any{"managedFields": list(managers, map[string]any{"operation": "Apply", "manager": "a"})}
		return out
	}
	owned := func(n int) map[string]any {
		return map[string]any{"metadata": map[string]any{"name": "web", "managedFields": []any{
			map[string]any{"operation": "Update", "manager": "a", "fieldsV1": map[string]any{"f:metadata": map[string]any{"f:" + text(n): map[string]any{}}}},
		}}}
	}
	const own = "karmada.io/execution-controller"
	kept := func(finalizers ...any) map[string]any {
		return map[string]any{"metadata": map[string]any{"name": "web", "finalizers": finalizers}}
	}
	generated := func(from string) map[string]any {
		return map[string]any{"metadata": map[string]any{"name": "web", "generateName": from}}
	}
	for name, of := range map[string]map[string]struct {
		object, before map[string]any
		refused        bool
	}{
		"agent-cluster-statuses": {
			"nothing":       {object: map[string]any{"metadata": map[string]any{"name": "web"}}},
			"null":          {object: status(map[string]any{"resourceSummary": nil})},
			"a usual one":   {object: status(map[string]any{"kubernetesVersion": "v1.36.3+k3s1", "nodeSummary": map[string]any{"totalNum": int64(3)}, "conditions": list(10, condition(text(500)))})},
			"a huge member": {object: status(map[string]any{"apiEnablements": list(300, map[string]any{"groupVersion": "ec2.aws.upbound.io/v1beta1", "resources": list(15, kind)}), "namespaceQuotas": list(256, quota)})},
			"many kinds":    {object: status(map[string]any{"apiEnablements": list(200, map[string]any{"groupVersion": "a/v1", "resources": list(60, kind)})}), refused: true},
			"a long name":   {object: status(map[string]any{"apiEnablements": []any{map[string]any{"groupVersion": text(700_000)}}}), refused: true},
			"an odd name":   {object: status(map[string]any{"apiEnablements": []any{map[string]any{"groupVersion": "<"}}}), refused: true},
			"an odd name as before": {
				object: status(map[string]any{"namespaceQuotas": []any{odd}, "conditions": list(1, condition("It does not answer."))}),
				before: status(map[string]any{"namespaceQuotas": []any{odd}}),
			},
			"an odd name as before, and a new API": {
				object: status(map[string]any{"namespaceQuotas": []any{odd}, "apiEnablements": []any{map[string]any{"groupVersion": "v1"}}}),
				before: status(map[string]any{"namespaceQuotas": []any{odd}}),
			},
			"one more odd name": {
				object:  status(map[string]any{"namespaceQuotas": []any{odd, odd}}),
				before:  status(map[string]any{"namespaceQuotas": []any{odd}}),
				refused: true,
			},
			"as much as before": {
				object: status(map[string]any{"kubernetesVersion": text(70_000), "conditions": list(1, condition("no"))}),
				before: status(map[string]any{"kubernetesVersion": text(70_000), "conditions": list(1, condition("yes"))}),
			},
			"a long reason": {object: status(map[string]any{"conditions": list(3, condition(text(30_000)))}), refused: true},
			"a version":     {object: status(map[string]any{"kubernetesVersion": text(70_000)}), refused: true},
			"many fields":   {object: status(map[string]any{"resourceSummary": map[string]any{"allocatable": map[string]any{text(70_000): "1"}}}), refused: true},
			"that it is silent": {
				object: conditions(says("Ready", "Unknown", "12:00")), before: conditions(says("Ready", "True", "11:00")), refused: true,
			},
			"that it always was silent": {object: conditions(says("Ready", "Unknown", "12:00")), refused: true},
			"that it is silent since another time": {
				object: conditions(says("Ready", "Unknown", "12:00")), before: conditions(says("Ready", "Unknown", "11:00")), refused: true,
			},
			"that it is silent, beside something else": {
				object: conditions(says("Ready", "True", "12:00"), says("Ready", "Unknown", "11:00")), before: conditions(says("Ready", "Unknown", "11:00")), refused: true,
			},
			"something else, while the hub says that it is silent": {
				object: conditions(says("Ready", "Unknown", "11:00"), says("DeletionsHeld", "True", "12:00")), before: conditions(says("Ready", "Unknown", "11:00")),
			},
			"that it is back": {object: conditions(says("Ready", "False", "12:00")), before: conditions(says("Ready", "Unknown", "11:00"))},
			"what the hub says, as it is": {
				object: conditions(says("CapacityJumped", "True", "10:00"), says("Ready", "True", "12:00"), says("EvictionSuspended", "True", "11:00")),
				before: conditions(says("Ready", "Unknown", "11:00"), says("EvictionSuspended", "True", "11:00"), says("CapacityJumped", "True", "10:00")),
			},
			"that evictions are suspended": {object: conditions(says("EvictionSuspended", "True", "12:00")), refused: true},
			"that they are not": {
				object: conditions(says("Ready", "True", "12:00")), before: conditions(says("EvictionSuspended", "True", "11:00")), refused: true,
			},
			"that its capacity did not jump": {
				object: conditions(says("CapacityJumped", "False", "11:00")), before: conditions(says("CapacityJumped", "True", "11:00")), refused: true,
			},
			"that it is one agent":  {object: conditions(says("SeveralAgents", "False", "12:00")), before: conditions(says("SeveralAgents", "True", "11:00")), refused: true},
			"thousands of silences": {object: conditions(list(600, says("EvictionSuspended", "True", "12:00"))...), refused: true},
			"an apply":              {object: applied(2), before: applied(1), refused: true},
			"after applies":         {object: applied(2), before: applied(2)},
		},
		"agent-work-statuses": {
			"nothing":              {object: map[string]any{"metadata": map[string]any{"name": "web"}}},
			"null":                 {object: status(map[string]any{"conditions": nil, "manifestStatuses": nil})},
			"a usual one":          {object: status(map[string]any{"conditions": list(2, condition("It is applied.")), "manifestStatuses": list(1, manifest("web", map[string]any{"replicas": int64(2)}))})},
			"what objects report":  {object: status(map[string]any{"manifestStatuses": list(1, manifest("web", map[string]any{"any": text(500_000)}))})},
			"long reasons":         {object: status(map[string]any{"conditions": list(5, condition(text(60_000)))}), refused: true},
			"as long as before":    {object: status(map[string]any{"conditions": list(5, condition(text(60_000)))}), before: status(map[string]any{"conditions": list(5, condition(text(60_001)))})},
			"a long name":          {object: status(map[string]any{"manifestStatuses": list(1, manifest(text(300_000), nil))}), refused: true},
			"thousands of objects": {object: status(map[string]any{"manifestStatuses": list(6000, manifest("web", nil))}), refused: true},
			"drift":                {object: status(map[string]any{"drift": list(5, map[string]any{"fields": list(10, text(6000))})}), refused: true},
			"an apply":             {object: applied(1), before: applied(0), refused: true},
		},
		"agent-works": {
			"none":              {object: map[string]any{"metadata": map[string]any{"name": "web"}}},
			"a few of it":       {object: owned(1000)},
			"many":              {object: owned(700_000), refused: true},
			"more than before":  {object: owned(700_001), before: owned(700_000), refused: true},
			"no more":           {object: owned(700_000), before: owned(700_000)},
			"fewer than before": {object: owned(20_000), before: owned(700_000)},

			"its finalizer":                          {object: kept(own)},
			"its finalizer beside another":           {object: kept("a.b/c", own), before: kept("a.b/c")},
			"another finalizer":                      {object: kept("a.b/c"), refused: true},
			"its finalizer twice":                    {object: kept(own, own), refused: true},
			"its finalizer again":                    {object: kept(own, own), before: kept(own), refused: true},
			"its finalizer thousands of times":       {object: kept(list(40_000, own)...), before: kept(own), refused: true},
			"that of another again":                  {object: kept("a.b/c", "a.b/c"), before: kept("a.b/c"), refused: true},
			"no finalizer":                           {object: kept(), before: kept(own)},
			"a finalizer as often as before":         {object: kept(own, own), before: kept(own, own)},
			"its finalizer instead of another":       {object: kept(own), before: kept("a.b/c")},
			"no finalizer, of which there were many": {object: kept(), before: kept(list(40_000, own)...)},
			"what its name is made of":               {object: generated("web-"), refused: true},
			"what its name is made of, longer":       {object: generated(text(700_000)), before: generated("web-"), refused: true},
			"what its name is made of, not any more": {object: status(nil), before: generated("web-"), refused: true},
			"what its name is made of, as it is":     {object: generated(text(700_000)), before: generated(text(700_000))},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := readPolicy(t, name)
			for what, tc := range of {
				t.Run(what, func(t *testing.T) {
					g := NewWithT(t)
					before := tc.before
					if before == nil {
						before = status(nil)
					}
					allowed, cost := p.allows(t, tc.object, before)
					g.Expect(allowed).To(Equal(!tc.refused))
					g.Expect(cost).To(BeNumerically("<", celconfig.PerCallLimit/2))
				})
			}
		})
	}
}
